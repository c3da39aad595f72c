// The symbols of one block back to elements: where the arithmetic is done, on the CPU's kernels or
// on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "pipeline/scheme.hpp"

namespace gradz {

// A bucket, or the part of one that lies in the block.
struct CodedPiece {
    std::uint32_t count;
    bool escaped;
};

// A block as its coder gave it back.
struct SymbolBlock {
    const Scheme* scheme;  // with a quantizer
    DType dtype;
    std::span<const CodedPiece> pieces;
    std::span<const float> scales;       // one a coded piece, or none where the scheme has none
    std::span<const std::byte> symbols;  // of all coded pieces
    std::span<const std::byte> escapes;  // elements of the escaped ones
};

// Reused from block to block; one per worker.
class BlockDequantizer {
public:
    virtual ~BlockDequantizer() = default;

    // out: the elements of all pieces, little-endian in the dtype. Errc::corrupt for a symbol
    // outside the alphabet.
    virtual Result<Done> restore(const SymbolBlock& block, std::span<std::byte> out) = 0;
};

// By the kernels of the scheme.
std::unique_ptr<BlockDequantizer> make_cpu_dequantizer();

}  // namespace gradz
