// Streams back to tensors, block by block on all threads, in order.
#pragma once

#include <cstdint>
#include <span>

#include "container/reader.hpp"
#include "core/byte_io.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "pipeline/device.hpp"

namespace gradz {

// Receives what a stream holds, in its order, one call at a time. An error ends the decoding.
class DecodeSink {
public:
    virtual ~DecodeSink() = default;

    virtual Result<Done> begin(const StreamHead&, const Origin&) { return Done{}; }  // before the first add()
    virtual Result<Done> add(std::span<const TensorHeader> more) = 0;
    virtual bool wants(std::uint64_t tensor) const = 0;  // whether write() should be called; checked all the same

    // Elements of tensor `tensor` from `first` on, little-endian in its dtype.
    virtual Result<Done> write(std::uint64_t tensor, std::uint64_t first, std::span<const std::byte> bytes) = 0;
    virtual Result<Done> end() { return Done{}; }  // INDEX and END agreed with what came before
};

// Reads all streams of `source` in order and verifies every byte of them, also where wants()
// is false. Memory: a few blocks a thread. `where` of an error: tensor < record.
// digest, if given, is fed with the seed (u64) of each stream and its records but ORIGIN and
// INDEX: what is the same for the same tensors, spec, seed, step and worker.
Result<Done> decode_streams(ByteSource& source, DecodeSink& sink, int threads, Digest* digest = nullptr,
                            const Device& device = cpu_device());

}  // namespace gradz
