// Folders, dumps and files for the tests of HDF5.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "formats/names.hpp"
#include "formats/readers.hpp"
#include "support/tensor_facts.hpp"

namespace gradz::test {

using Bytes = std::vector<std::byte>;

// An empty folder that goes when the test ends.
class TempFolder {
public:
    TempFolder() {
        static int count = 0;
        path_ = std::filesystem::temp_directory_path() /
                ("gradz-h5-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
        std::filesystem::create_directories(path_);
    }
    ~TempFolder() { std::filesystem::remove_all(path_); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

inline std::string slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void spill(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline Result<std::unique_ptr<formats::TensorReader>> open_h5(const std::string& path,
                                                              const formats::ReadOptions& options = {}) {
    return formats::open_hdf5(path, formats::identify(path, options), options);
}

struct Dump {
    std::vector<TensorInfo> tensors;
    std::vector<Bytes> values;
    Origin origin;
    std::vector<formats::Skipped> skipped;
    std::vector<std::string> warnings;
};

inline Result<Dump> read_h5(const std::string& path, const formats::ReadOptions& options = {},
                            std::uint64_t step = 1000) {
    GRADZ_TRY(const auto reader, open_h5(path, options));
    Dump out{reader->tensors(), {}, reader->origin(), reader->skipped(), reader->warnings()};
    for (std::size_t i = 0; i < out.tensors.size(); ++i) {
        GRADZ_TRY(auto values, read_elements(*reader, i, step));
        out.values.push_back(std::move(values));
    }
    GRADZ_TRY([[maybe_unused]] const auto done, reader->finish());
    return out;
}

// In pieces of `step` elements.
inline Result<Done> write_h5(std::unique_ptr<formats::Output> output, const Dump& dump, std::uint64_t step = 1000) {
    GRADZ_TRY(const auto writer, formats::create_hdf5(std::move(output), dump.origin, {}));
    GRADZ_TRY(Done{}, writer->add(dump.tensors));
    for (std::size_t i = 0; i < dump.tensors.size(); ++i) {
        const auto size = size_of(dump.tensors[i].dtype);
        const std::span<const std::byte> all(dump.values[i]);
        for (std::uint64_t first = 0; first * size < all.size(); first += step) {
            const auto rest = all.subspan(first * size);
            GRADZ_TRY(Done{}, writer->write(i, first, rest.first(std::min(step * size, rest.size()))));
        }
    }
    return writer->commit();
}

inline Result<Done> write_h5(const std::string& path, const Dump& dump, std::uint64_t step = 1000) {
    GRADZ_TRY(auto output, formats::create(path, true));
    return write_h5(std::move(output), dump, step);
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
    const auto b = std::as_bytes(std::span(values));
    return {b.begin(), b.end()};
}

inline void check_same_tensors(const Dump& a, const Dump& b) {
    REQUIRE(a.tensors.size() == b.tensors.size());
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
        INFO("tensor ", a.tensors[i].name);
        CHECK(a.tensors[i].name == b.tensors[i].name);
        CHECK(a.tensors[i].shape == b.tensors[i].shape);
        CHECK(a.tensors[i].dtype == b.tensors[i].dtype);
        CHECK(a.tensors[i].step == b.tensors[i].step);
        CHECK(a.values[i] == b.values[i]);
    }
}

// Doctest prints this instead of a bare false.
#define CHECK_DONE(expr)                                          \
    do {                                                          \
        const auto& done_ = (expr);                               \
        const std::string why_ = done_ ? "" : done_.error().what; \
        CHECK_MESSAGE(static_cast<bool>(done_), why_);            \
    } while (false)

}  // namespace gradz::test
