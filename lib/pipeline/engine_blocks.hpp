// Blocks on a device's engine: what is sent there, and what is made on the host of what comes back.
#pragma once

#include <memory>

#include "kernels/cuda/engine.hpp"
#include "pipeline/block_dequantizer.hpp"
#include "pipeline/block_quantizer.hpp"

namespace gradz {

// Symbols, one or two bytes each, come back and not packed codes: the checksum of a block is over
// symbols, and entropy coders want them.
std::unique_ptr<BlockQuantizer> make_engine_quantizer(std::unique_ptr<kernels::cuda::BlockEngine> engine);
std::unique_ptr<BlockDequantizer> make_engine_dequantizer(std::unique_ptr<kernels::cuda::BlockEngine> engine);

}  // namespace gradz
