// Files and outputs in memory, so that tests can damage every byte of them.
#pragma once

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/mapped_file.hpp"
#include "formats/output_file.hpp"

namespace gradz::test {

using Bytes = std::vector<std::byte>;

inline Bytes read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return Bytes(bytes.begin(), bytes.end());
}

// Exactly as large as the bytes, so that the address sanitizer sees a read past the end.
class MemoryFile final : public formats::MappedFile {
public:
    explicit MemoryFile(std::span<const std::byte> bytes)
        : size_(bytes.size()), bytes_(std::make_unique<std::byte[]>(bytes.size())) {
        if (size_ != 0) std::memcpy(bytes_.get(), bytes.data(), size_);
    }
    std::span<const std::byte> bytes() const override { return {bytes_.get(), size_}; }
    Result<Done> release(std::uint64_t, std::uint64_t) override { return Done{}; }
    Result<Done> unchanged() const override { return Done{}; }

private:
    std::size_t size_;
    std::unique_ptr<std::byte[]> bytes_;
};

// Writes to a byte string of the caller, like a file or like a pipe.
class MemoryOutput final : public formats::Output {
public:
    MemoryOutput(Bytes& out, bool seekable) : out_(out), seekable_(seekable) {}
    Result<Done> write(std::span<const std::byte> bytes) override {
        out_.insert(out_.end(), bytes.begin(), bytes.end());
        return Done{};
    }
    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        if (!seekable_ || offset + bytes.size() > out_.size()) return Error{Errc::io, "cannot seek", ""};
        std::copy(bytes.begin(), bytes.end(), out_.begin() + static_cast<std::ptrdiff_t>(offset));
        return Done{};
    }
    bool seekable() const override { return seekable_; }
    std::filesystem::path staging() const override { return {}; }
    void copy_times(const std::filesystem::path&) override {}
    void redirect(const std::filesystem::path&) override {}
    Result<Done> commit() override { return Done{}; }

private:
    Bytes& out_;
    bool seekable_;
};

}  // namespace gradz::test
