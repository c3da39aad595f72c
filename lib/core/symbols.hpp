// Symbols: what quantizers make and coders take. Both know this page and not each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradz {

// How symbols stand for levels; decides what `elias` writes.
enum class SymbolKind : std::uint8_t {
    magnitudes,  // 0 is zero, 2k - 1 and 2k are +level k and -level k
    table,       // index into a sorted table of 2h levels: -level h .. -level 1, level 1 .. level h
    bits16,      // the 16 bits of a converted float (fp16, bf16)
};

// One block's symbols: those of its coded (not escaped) buckets, one bucket after another.
// In memory a symbol is u8, or u16 little-endian where the alphabet exceeds 256.
struct BlockShape {
    SymbolKind kind;
    std::uint32_t alphabet;                  // symbols are below it; 2..511, or 65536 for bits16
    std::span<const std::uint32_t> buckets;  // elements of each coded bucket, all >= 1

    std::size_t elements() const {
        std::size_t n = 0;
        for (const auto b : buckets) n += b;
        return n;
    }
    std::size_t symbol_bytes() const { return alphabet <= 256 ? 1 : 2; }
};

}  // namespace gradz
