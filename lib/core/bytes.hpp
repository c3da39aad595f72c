// Little-endian integers and varints in byte strings, bounds-checked on the way in.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace gradz {

static_assert(std::endian::native == std::endian::little,
              "element bytes and records are used in place: a big-endian port swaps them here");

// Appends to a byte string that it does not own.
class ByteWriter {
public:
    explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

    template <class T>
    void little(T value) {  // any trivially copyable scalar
        const std::size_t at = out_.size();
        out_.resize(at + sizeof value);
        std::memcpy(out_.data() + at, &value, sizeof value);
    }
    // LEB128: seven bits a byte, low ones first, bit 7 set on all but the last.
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<std::byte>(value | 0x80));
        out_.push_back(static_cast<std::byte>(value));
    }
    void bytes(std::span<const std::byte> b) { out_.insert(out_.end(), b.begin(), b.end()); }
    void text(std::string_view s) { bytes(std::as_bytes(std::span(s.data(), s.size()))); }

private:
    std::vector<std::byte>& out_;
};

// Reads from a byte string that outlives it. Every read past the end is Errc::truncated.
class ByteReader {
public:
    explicit ByteReader(std::span<const std::byte> in) : in_(in) {}

    std::size_t at() const { return at_; }
    std::size_t left() const { return in_.size() - at_; }

    template <class T>
    Result<T> little() {
        if (left() < sizeof(T)) return short_of(sizeof(T));
        T value;
        std::memcpy(&value, in_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    // At most ten bytes and 64 bits, and the shortest spelling only, so that a value has
    // one encoding: Errc::corrupt otherwise.
    Result<std::uint64_t> varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 70; shift += 7) {
            if (left() == 0) return short_of(1);
            const auto byte = static_cast<std::uint64_t>(in_[at_++]);
            if ((shift == 63 && byte > 1) || (shift > 0 && byte == 0)) break;
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        return Error{Errc::corrupt, "bad varint before byte " + std::to_string(at_), ""};
    }
    Result<std::span<const std::byte>> bytes(std::uint64_t count) {
        if (left() < count) return short_of(count);
        at_ += count;
        return in_.subspan(at_ - count, count);
    }
    Result<std::string> text(std::uint64_t count) {
        GRADZ_TRY(const auto b, bytes(count));
        return std::string(reinterpret_cast<const char*>(b.data()), b.size());
    }

private:
    Error short_of(std::uint64_t count) const {
        return {Errc::truncated,
                std::to_string(count) + " bytes wanted at byte " + std::to_string(at_) + ", " + std::to_string(left()) +
                    " left",
                ""};
    }

    std::span<const std::byte> in_;
    std::size_t at_ = 0;
};

}  // namespace gradz
