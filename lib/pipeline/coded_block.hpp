// What the stages of a block hand on: the parts it is made of, and the symbols that became
// of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/layout.hpp"
#include "stats/sums.hpp"

namespace gradz {

inline kernels::PhiloxKey philox_key(std::uint64_t key) {
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

// One part of a block: its elements, and what became of them.
struct PartInput {
    const Planned* tensor;
    std::uint64_t first, count;
    std::span<const std::byte> bytes;  // little-endian, any alignment
    std::span<const Scale> large;      // scales of buckets longer than a block, else empty
};

struct PartResult {
    Sums sums;
    std::uint64_t output = 0, code = 0, scale = 0, header = 0;  // bytes of the record; output is all of them
};

// A block between its quantizer and its coder. Buffers keep their size from block to block.
class CodedBlock {
public:
    void clear() {
        symbol_bytes_ = 0;
        escapes.clear(), scales.clear(), coded.clear(), escaped.clear();
    }

    // Room for `bytes` more symbols, not initialized; other pointers become invalid.
    std::byte* add_symbols(std::size_t bytes) {
        const std::size_t begin = symbol_bytes_;
        symbol_bytes_ += bytes;
        if (symbols_.size() < symbol_bytes_) symbols_.resize(std::max(symbol_bytes_, 2 * symbols_.size()));
        return symbols_.data() + begin;
    }
    // Of all coded pieces, one after another.
    std::span<const std::byte> symbols() const { return {symbols_.data(), symbol_bytes_}; }

    std::vector<float> scales;         // one a coded piece, or none where the scheme has none
    std::vector<std::uint32_t> coded;  // elements of each coded piece
    std::vector<bool> escaped;         // of each piece
    std::vector<std::byte> escapes;    // elements of the escaped ones

private:
    std::vector<std::byte> symbols_;  // at least symbol_bytes_; never shrinks, since resizing would fill with zeros
    std::size_t symbol_bytes_ = 0;
};

}  // namespace gradz
