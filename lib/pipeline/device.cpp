#include "pipeline/device.hpp"

#include <utility>

#include "pipeline/engine_blocks.hpp"
#ifdef GRADZ_CUDA
#include "kernels/cuda/device.hpp"
#endif

namespace gradz {
namespace {

class CpuDevice final : public Device {
public:
    Result<std::unique_ptr<BlockQuantizer>> quantizer() const override { return make_cpu_quantizer(); }
    Result<std::unique_ptr<BlockDequantizer>> dequantizer() const override { return make_cpu_dequantizer(); }
};

class EngineDevice final : public Device {
public:
    explicit EngineDevice(OpenEngine open) : open_(std::move(open)) {}

    Result<std::unique_ptr<BlockQuantizer>> quantizer() const override {
        GRADZ_TRY(auto engine, open_());
        return make_engine_quantizer(std::move(engine));
    }
    Result<std::unique_ptr<BlockDequantizer>> dequantizer() const override {
        GRADZ_TRY(auto engine, open_());
        return make_engine_dequantizer(std::move(engine));
    }

private:
    OpenEngine open_;
};

}  // namespace

const Device& cpu_device() {
    static const CpuDevice device;
    return device;
}

std::unique_ptr<Device> engine_device(OpenEngine open_engine) {
    return std::make_unique<EngineDevice>(std::move(open_engine));
}

#ifdef GRADZ_CUDA

bool built_with_cuda() { return true; }

Result<std::unique_ptr<Device>> cuda_device() {
    GRADZ_TRY([[maybe_unused]] auto there, kernels::cuda::probe());
    return engine_device(kernels::cuda::open_engine);
}

#else

bool built_with_cuda() { return false; }

Result<std::unique_ptr<Device>> cuda_device() {
    return Error{Errc::unsupported, "this gradz was built without CUDA", ""};
}

#endif

}  // namespace gradz
