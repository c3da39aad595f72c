// One block at a time through a device: what is copied there, launched, and copied back. Memory
// and launches are the derived class's; the way from spans to jobs is here, so that tests run it
// on the host.
#pragma once

#include <span>

#include "core/error.hpp"
#include "kernels/cuda/job.hpp"

namespace gradz::kernels::cuda {

struct QuantizeTask {
    FloatType type;
    Grid grid;
    ScaleRule rule;
    std::uint32_t zero;  // symbol of the value +0
    bool has_scales;     // Piece::given holds them
    std::span<const Piece> pieces;
    std::size_t elements;  // of all pieces, which cover them
};

// Valid until the next call. Symbols of escaped pieces are anything.
struct Quantized {
    std::span<const float> scales;          // [pieces]
    std::span<const std::uint8_t> escaped;  // [pieces]: 0 or 1
    std::span<const std::byte> symbols;     // of all elements
};

struct DecodeTask {
    FloatType type;
    std::uint32_t symbol_bytes;
    std::span<const float> values;  // [kMaxSymbols]
    std::span<const DecodedPiece> pieces;
    std::size_t symbols, elements;  // how many there are; elements between pieces are left alone
};

// Reused from block to block; one per worker. Errors: Errc::io, naming the call that failed.
class BlockEngine {
public:
    virtual ~BlockEngine() = default;

    // Where the caller puts the elements of a QuantizeTask, or the symbols of a DecodeTask: at least
    // `bytes`, aligned to 256, valid until that task is done.
    Result<std::byte*> input(std::size_t bytes);

    Result<Quantized> quantize(const QuantizeTask& task);
    Result<std::span<const std::byte>> decode(const DecodeTask& task);  // all elements

protected:
    struct Buffer {
        std::byte* host = nullptr;
        std::byte* device = nullptr;
        std::size_t size = 0;
    };

    // At least that many bytes on both sides, aligned to 256; the first `keep` of the host's stay.
    virtual Result<Done> reserve(Buffer& buffer, std::size_t bytes, std::size_t keep) = 0;

    // Copies `bytes` of in_ to the device, runs the job, copies `results` bytes of out_ back, and
    // waits for all of it.
    virtual Result<Done> run(const QuantizeJob& job, std::size_t bytes, std::size_t results) = 0;
    virtual Result<Done> run(const DecodeJob& job, std::size_t bytes, std::size_t results) = 0;

    Buffer in_, out_;
};

}  // namespace gradz::kernels::cuda
