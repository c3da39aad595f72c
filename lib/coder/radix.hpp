// Several small symbols to a byte as digits of base A: where 2 A's power is not a power of
// two it wastes less than bit fields do, and whole bytes are what zstd sees patterns in.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradz {

// g = floor(log_A 256) for an alphabet of A = 2 .. 256.
constexpr unsigned digits_per_byte(std::uint32_t alphabet) {
    unsigned digits = 0;
    for (std::uint32_t power = alphabet; power <= 256; power *= alphabet) ++digits;
    return digits;
}

constexpr std::uint64_t radix_bytes(std::uint64_t n, std::uint32_t alphabet) {
    const unsigned g = digits_per_byte(alphabet);
    return n / g + (n % g != 0);
}

// Byte j is the sum of s[g j + i] A^i, missing digits of the last one zero. symbols: [n],
// each below A. bytes: [radix_bytes(n, A)], not overlapping.
void pack_radix(const std::byte* symbols, std::size_t n, std::uint32_t alphabet, std::byte* bytes);

// The reverse. Returns the place of the first byte that pack_radix does not write (a digit
// that is no symbol, or a missing one that is not zero), or radix_bytes(n, A) if there is none;
// the symbols are unspecified in the former case.
std::size_t unpack_radix(const std::byte* bytes, std::size_t n, std::uint32_t alphabet, std::byte* symbols);

}  // namespace gradz
