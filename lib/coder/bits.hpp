// Bit strings whose first bit is the highest one of the first byte, as Elias codes are read.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gradz {

// Writes where the caller has made room: kSlack bytes more than the bits themselves.
class BitWriter {
public:
    static constexpr std::size_t kSlack = 8;

    explicit BitWriter(std::byte* at) : at_(at) {}

    // The low `count` bits of `bits`; those above are zero. Without a flush() between them
    // the bits put add up to at most 56.
    void put(std::uint64_t bits, unsigned count) {
        word_ = word_ << count | bits;
        fill_ += count;
        assert(fill_ < 64);
    }
    void flush() {
        const std::uint64_t bytes = __builtin_bswap64(word_ << 1 << (63 - fill_));
        std::memcpy(at_, &bytes, sizeof bytes);
        at_ += fill_ / 8;
        fill_ %= 8;
    }
    // Fills the last byte with zeros and returns the end.
    std::byte* finish() {
        flush();
        return at_ + (fill_ > 0);
    }

private:
    std::byte* at_;
    std::uint64_t word_ = 0;  // the last fill_ bits of it are not yet whole bytes at at_
    unsigned fill_ = 0;
};

// Reads zeros beyond the end, so that inner loops need no check; overrun() then says so.
class BitReader {
public:
    explicit BitReader(std::span<const std::byte> in) : in_(in) {}

    // Afterwards at least 56 bits can be peeked at and skipped.
    void refill() {
        if (next_ + 8 <= in_.size()) [[likely]] {
            std::uint64_t bytes;
            std::memcpy(&bytes, in_.data() + next_, sizeof bytes);
            window_ |= __builtin_bswap64(bytes) >> ready_;
            next_ += (63 - ready_) / 8;
            ready_ |= 56;  // plus 8 for every byte taken
            return;
        }
        for (; ready_ <= 56; ready_ += 8, ++next_)
            if (next_ < in_.size()) window_ |= std::to_integer<std::uint64_t>(in_[next_]) << (56 - ready_);
    }
    std::uint64_t peek(unsigned count) const { return window_ >> (64 - count); }  // count 1..56
    unsigned leading_zeros() const { return static_cast<unsigned>(std::countl_zero(window_)); }
    void skip(unsigned count) {
        assert(count <= ready_);
        window_ <<= count;
        ready_ -= count;
    }
    std::uint64_t take(unsigned count) {
        const std::uint64_t bits = peek(count);
        skip(count);
        return bits;
    }

    std::size_t at() const { return next_ * 8 - ready_; }  // bits skipped since the beginning
    bool overrun() const { return at() > in_.size() * 8; }

private:
    std::span<const std::byte> in_;
    std::size_t next_ = 0;      // byte that follows the window's; may lie beyond the end
    std::uint64_t window_ = 0;  // the next ready_ bits from the top; below them the same bits that
                                // a refill would put there, or zeros
    unsigned ready_ = 0;
};

}  // namespace gradz
