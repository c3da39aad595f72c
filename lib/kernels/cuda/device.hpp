// The CUDA device of this machine, in builds with GRADZ_CUDA.
#pragma once

#include <memory>

#include "kernels/cuda/engine.hpp"

namespace gradz::kernels::cuda {

// Whether there is a device that can be used: the first one that CUDA shows (CUDA_VISIBLE_DEVICES
// chooses). Errc::unsupported with the runtime's reason.
Result<Done> probe();

// A stream of its own with pinned buffers. Thread-safe. Errc::io if the device has no room.
Result<std::unique_ptr<BlockEngine>> open_engine();

}  // namespace gradz::kernels::cuda
