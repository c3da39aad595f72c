// What one launch works on: pointers of the device, or of the host in tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"
#include "kernels/scale_element.hpp"

namespace gradz::kernels::cuda {

// A bucket, or the part of one that lies in a block.
struct Piece {
    std::uint64_t first;         // place of its first element in the tensor
    std::uint32_t begin, count;  // of its elements among those of the block; fewer than 2^32
    PhiloxKey key;               // of the tensor
    BucketScale given;           // of a bucket that is longer than the piece: see QuantizeJob
};

struct QuantizeJob {
    FloatType type;
    bool has_scales;  // pieces come with them; else they are made of the piece's norm
    Grid grid;        // its table's pointers are the device's, too
    ScaleRule rule;
    std::uint32_t zero;  // symbol of the value +0

    const std::uint8_t* elements;  // of type, one after another, aligned
    const Piece* pieces;           // [count]
    std::uint32_t count, longest;  // elements of the longest piece

    float* scales;          // [count]
    std::uint8_t* escaped;  // [count], 0 or 1
    std::uint8_t* symbols;  // grid.bytes for each element; those of escaped pieces are not written
};

// Where a coded piece comes from and goes to.
struct DecodedPiece {
    std::uint32_t symbols, begin, count;  // its first symbol; its first element
    float S;
};

struct DecodeJob {
    FloatType type;
    std::uint32_t bytes;           // of a symbol
    const float* values;           // [kMaxSymbols]: the level of each symbol
    const std::uint8_t* symbols;   // of all pieces
    const DecodedPiece* pieces;    // [count]
    std::uint32_t count, longest;  // elements of the longest piece
    std::uint8_t* elements;        // of type; those of escaped pieces are not written
};

}  // namespace gradz::kernels::cuda
