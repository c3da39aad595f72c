// Byte sources and sinks in memory, for tests of whatever reads or writes streams.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/byte_io.hpp"

namespace gradz::test {

class MemorySink : public ByteSink {
public:
    std::vector<std::byte> bytes;
    std::size_t most = std::numeric_limits<std::size_t>::max();  // a full disk: Errc::io beyond it

    Result<Done> write(std::span<const std::byte> more) override {
        if (bytes.size() + more.size() > most) return Error{Errc::io, "no space left", ""};
        bytes.insert(bytes.end(), more.begin(), more.end());
        return Done{};
    }
};

// A file, or a pipe where `seekable` is false. Does not own the bytes.
class MemorySource : public ByteSource {
public:
    explicit MemorySource(std::span<const std::byte> bytes, bool seekable = true)
        : bytes_(bytes), seekable_(seekable) {}

    std::atomic<std::uint64_t> largest_read = 0;   // bytes asked for at once by read()
    std::atomic<std::uint64_t> bytes_read_at = 0;  // by read_at() in all

    Result<std::size_t> read(std::span<std::byte> into) override {
        largest_read = std::max<std::uint64_t>(largest_read, into.size());
        const std::size_t n = std::min(into.size(), bytes_.size() - at_);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), n, into.begin());
        at_ += n;
        return n;
    }
    std::optional<std::uint64_t> size() const override {
        return seekable_ ? std::optional<std::uint64_t>(bytes_.size()) : std::nullopt;
    }
    Result<Done> read_at(std::uint64_t offset, std::span<std::byte> into) override {
        if (offset > bytes_.size() || into.size() > bytes_.size() - offset)
            return Error{Errc::truncated, "read past the end", ""};
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        bytes_read_at += into.size();
        return Done{};
    }

private:
    std::span<const std::byte> bytes_;
    bool seekable_;
    std::size_t at_ = 0;
};

}  // namespace gradz::test
