// The elements of one block to scales, symbols and escapes: where the arithmetic is done, on the
// CPU's kernels or on a device.
#pragma once

#include <memory>
#include <span>

#include "core/error.hpp"
#include "pipeline/block_meter.hpp"
#include "pipeline/coded_block.hpp"

namespace gradz {

// Reused from block to block; one per worker. What it gives depends on nothing but its input.
class BlockQuantizer {
public:
    virtual ~BlockQuantizer() = default;

    // parts: of one scheme, which has a quantizer. out: replaced. results: [parts]; sums and the
    // bytes of escapes (output) and scales are added.
    virtual Result<Done> quantize(std::span<const PartInput> parts, StatsLevel level, CodedBlock& out,
                                  std::span<PartResult> results) = 0;
};

// By the kernels of the scheme; never fails.
std::unique_ptr<BlockQuantizer> make_cpu_quantizer();

}  // namespace gradz
