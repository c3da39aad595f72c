// Symbols to fixed-width fields of a little-endian bit string and back, by the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradz {

// Bytes of n fields of `width` bits.
constexpr std::uint64_t packed_bytes(std::uint64_t n, unsigned width) {
    return n / 8 * width + (n % 8 * width + 7) / 8;
}

// Field i is bits [i width, (i + 1) width), bit 0 of a byte first; unused bits at the end
// are zero. symbols: [n] u8 (width 1..8) or u16 (width 9..16), each below 2^width. bytes:
// [packed_bytes(n, width)], not overlapping.
void pack_bits(const std::byte* symbols, std::size_t n, unsigned width, std::byte* bytes);

// The reverse. False if an unused bit is set; the symbols are filled all the same.
bool unpack_bits(const std::byte* bytes, std::size_t n, unsigned width, std::byte* symbols);

}  // namespace gradz
