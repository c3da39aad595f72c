// Files for tests: a folder that goes away, and the tensors of a dump as bytes and figures.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "formats/tensor_reader.hpp"
#include "formats/tensor_writer.hpp"

namespace gradz::test {

namespace fs = std::filesystem;

inline const fs::path kData = GRADZ_TEST_DATA;

template <class T>
T must(Result<T> result) {  // what the test cannot go on without
    if (!result) FAIL(result.error().what << " (" << result.error().where << ")");
    return std::move(*result);
}

class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "gradz-test-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()));
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    fs::path operator/(const std::string& name) const { return path_ / name; }
    const fs::path& path() const { return path_; }
    std::size_t count() const {  // hidden leftovers included
        return static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(path_), {}));
    }

private:
    fs::path path_;
};

inline std::string slurp(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void spill(const fs::path& path, const std::string& bytes) {
    std::ofstream out(path, std::ios::binary);
    out << bytes;
    out.flush();
    REQUIRE(out);
}

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A pipe that carries `bytes`; path() is its reading end.
class Pipe {
public:
    explicit Pipe(std::string bytes) {
        REQUIRE(::pipe(ends_) == 0);
        writer_ = std::thread([fd = ends_[1], text = std::move(bytes)] {
            for (std::size_t at = 0; at < text.size();) {
                const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
                if (n <= 0) break;  // the reader gave up
                at += static_cast<std::size_t>(n);
            }
            ::close(fd);
        });
    }
    ~Pipe() {
        char drain[4096];
        while (::read(ends_[0], drain, sizeof drain) > 0) {}
        writer_.join();
        ::close(ends_[0]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    fs::path path() const { return "/dev/fd/" + std::to_string(ends_[0]); }

private:
    int ends_[2] = {-1, -1};
    std::thread writer_;
};

// All elements of a tensor, read in chunks of `step` elements.
inline Result<std::string> read_tensor(TensorSource& reader, std::size_t index, std::uint64_t step = 1000) {
    const auto& info = reader.tensors()[index];
    GRADZ_TRY(const auto count, info.numel());
    GRADZ_TRY(auto source, reader.open(index));
    std::string out;
    std::vector<std::byte> buffer;
    for (std::uint64_t first = 0; first < count; first += step) {
        const Chunk chunk{first, std::min(step, count - first)};
        GRADZ_TRY(const auto bytes, source->read(chunk, buffer));
        out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        GRADZ_TRY([[maybe_unused]] auto released, source->release(chunk));
    }
    return out;
}

// Every element of every tensor, and finish(): whether a dump can be read to its end.
inline Result<Done> read_to_end(const fs::path& path, const formats::ReadOptions& options = {}) {
    GRADZ_TRY(auto reader, formats::open_tensors(path, options));
    for (std::size_t i = 0; i < reader->tensors().size(); ++i) {
        GRADZ_TRY([[maybe_unused]] auto bytes, read_tensor(*reader, i));
    }
    return reader->finish();
}

// All tensors of a dump into a writer, in pieces of `step` elements, and commit().
inline Result<Done> copy_tensors(TensorSource& reader, formats::TensorWriter& writer, std::uint64_t step = 1000) {
    GRADZ_TRY([[maybe_unused]] auto added, writer.add(reader.tensors()));
    for (std::size_t i = 0; i < reader.tensors().size(); ++i) {
        GRADZ_TRY(const auto bytes, read_tensor(reader, i));
        const std::uint64_t size = size_of(reader.tensors()[i].dtype);
        for (std::uint64_t first = 0; first * size < bytes.size(); first += step) {
            const auto piece = bytes_of(bytes).subspan(first * size);
            GRADZ_TRY([[maybe_unused]] auto written,
                      writer.write(i, first, piece.first(std::min<std::size_t>(piece.size(), step * size))));
        }
    }
    return writer.commit();
}

inline double from_half(std::uint16_t h) {
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    const double sign = h & 0x8000 ? -1 : 1;
    if (exponent == 31) return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
    return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24));
}

// Of little-endian floats of any of the four quantizable types.
inline std::vector<double> to_doubles(const std::string& bytes, DType dtype) {
    std::vector<double> out;
    const auto take = [&]<class T>(T, auto convert) {
        for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
            T value;
            std::memcpy(&value, bytes.data() + i, sizeof value);
            out.push_back(convert(value));
        }
    };
    if (dtype == DType::f32) take(float{}, [](float v) { return static_cast<double>(v); });
    if (dtype == DType::f64) take(double{}, [](double v) { return v; });
    if (dtype == DType::f16) take(std::uint16_t{}, from_half);
    if (dtype == DType::bf16)
        take(std::uint16_t{}, [](std::uint16_t v) {
            return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16));
        });
    return out;
}

struct Figures {  // of the finite values, as the data's JSON files give them
    std::size_t count = 0, nan = 0, inf = 0, zeros = 0;
    double l2 = 0, linf = 0, mean = 0, min = HUGE_VAL, max = -HUGE_VAL;
};

inline Figures figures_of(const std::vector<double>& values) {
    Figures f;
    long double sum = 0, squares = 0;  // 1e300 squared fits
    std::size_t finite = 0;
    for (const double v : values) {
        ++f.count;
        if (std::isnan(v)) ++f.nan;
        else if (std::isinf(v)) ++f.inf;
        else {
            ++finite;
            f.zeros += v == 0;
            sum += v;
            squares += static_cast<long double>(v) * v;
            f.linf = std::max(f.linf, std::abs(v));
            f.min = std::min(f.min, v);
            f.max = std::max(f.max, v);
        }
    }
    f.l2 = static_cast<double>(sqrtl(squares));
    f.mean = finite ? static_cast<double>(sum / static_cast<long double>(finite)) : 0;
    return f;
}

}  // namespace gradz::test
