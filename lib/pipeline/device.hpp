// Where blocks are quantized and restored. Neither bytes nor figures depend on it.
#pragma once

#include <functional>
#include <memory>

#include "core/error.hpp"
#include "kernels/cuda/engine.hpp"
#include "pipeline/block_dequantizer.hpp"
#include "pipeline/block_quantizer.hpp"

namespace gradz {

class Device {
public:
    virtual ~Device() = default;

    // One per worker. Thread-safe.
    virtual Result<std::unique_ptr<BlockQuantizer>> quantizer() const = 0;
    virtual Result<std::unique_ptr<BlockDequantizer>> dequantizer() const = 0;
};

// The kernels that GRADZ_TARGET names; never fails.
const Device& cpu_device();

// All quantizers with scales run on engines that open_engine makes, casts on the CPU. Statistics,
// hashes and coders stay on the CPU.
using OpenEngine = std::function<Result<std::unique_ptr<kernels::cuda::BlockEngine>>()>;
std::unique_ptr<Device> engine_device(OpenEngine open_engine);

// The CUDA device of this machine. Errc::unsupported with the reason: a build without CUDA, no
// driver, no device.
Result<std::unique_ptr<Device>> cuda_device();
bool built_with_cuda();

}  // namespace gradz
