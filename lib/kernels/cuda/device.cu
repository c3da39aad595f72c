// The kernels and everything that calls CUDA's runtime.
#include "kernels/cuda/device.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "kernels/cuda/bodies.hpp"

namespace gradz::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256, kWarpsPerBlock = kThreads / kWarp;
constexpr std::uint64_t kMostBlocks = 1u << 16;  // warps take several items beyond that

__device__ Warp this_warp() {
    const std::uint64_t per_block = blockDim.x / kWarp;
    return {blockIdx.x * per_block + threadIdx.x / kWarp, gridDim.x * per_block};
}

// __grid_constant__: bodies take the job by reference, and a copy of it a thread would be on its stack.
__global__ void __launch_bounds__(kThreads) scale_kernel(const __grid_constant__ QuantizeJob job) {
    scale_pieces(job, this_warp());
}
__global__ void __launch_bounds__(kThreads) quantize_kernel(const __grid_constant__ QuantizeJob job) {
    quantize_pieces(job, this_warp());
}
__global__ void __launch_bounds__(kThreads) decode_kernel(const __grid_constant__ DecodeJob job) {
    decode_pieces(job, this_warp());
}

Error failed(const char* call, cudaError_t status, Errc code = Errc::io) {
    return {code, std::string(call) + ": " + cudaGetErrorString(status), "CUDA device"};
}

// GRADZ_CUDA_TRY(cudaStreamCreate, &stream); every call of the runtime goes through it.
#define GRADZ_CUDA_TRY(call, ...) \
    if (const cudaError_t status = call(__VA_ARGS__); status != cudaSuccess) return failed(#call, status)

// Blocks of threads for that many work items of a warp.
unsigned blocks_for(std::uint64_t items) {
    return static_cast<unsigned>(
        std::clamp<std::uint64_t>((items + kWarpsPerBlock - 1) / kWarpsPerBlock, 1, kMostBlocks));
}

class Engine final : public BlockEngine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine() override {  // a failed release leaves nothing that could still be done
        for (Buffer* buffer : {&in_, &out_}) release(*buffer);
        if (stream_) (void)cudaStreamDestroy(stream_);
    }

    Result<Done> open() {
        GRADZ_CUDA_TRY(cudaStreamCreateWithFlags, &stream_, cudaStreamNonBlocking);
        return Done{};
    }

private:
    static void release(Buffer& buffer) {
        if (buffer.host) (void)cudaFreeHost(buffer.host);
        if (buffer.device) (void)cudaFree(buffer.device);
        buffer = {};
    }

    // Nothing runs between tasks, so that a buffer in use is never replaced.
    Result<Done> reserve(Buffer& buffer, std::size_t bytes, std::size_t keep) override {
        if (bytes <= buffer.size) return Done{};
        Buffer larger;
        larger.size = std::max(bytes, 2 * buffer.size);
        void *host = nullptr, *device = nullptr;
        GRADZ_CUDA_TRY(cudaMallocHost, &host, larger.size);
        larger.host = static_cast<std::byte*>(host);
        if (const cudaError_t status = cudaMalloc(&device, larger.size); status != cudaSuccess) {
            release(larger);
            return failed("cudaMalloc", status);
        }
        larger.device = static_cast<std::byte*>(device);
        if (keep > 0) std::copy_n(buffer.host, std::min(keep, buffer.size), larger.host);
        release(buffer);
        buffer = larger;
        return Done{};
    }

    Result<Done> send(std::size_t bytes) {
        GRADZ_CUDA_TRY(cudaMemcpyAsync, in_.device, in_.host, bytes, cudaMemcpyHostToDevice, stream_);
        return Done{};
    }
    Result<Done> launched() {
        GRADZ_CUDA_TRY(cudaGetLastError);
        return Done{};
    }
    Result<Done> receive(std::size_t bytes) {
        GRADZ_CUDA_TRY(cudaMemcpyAsync, out_.host, out_.device, bytes, cudaMemcpyDeviceToHost, stream_);
        GRADZ_CUDA_TRY(cudaStreamSynchronize, stream_);
        return Done{};
    }

    Result<Done> run(const QuantizeJob& job, std::size_t bytes, std::size_t results) override {
        GRADZ_TRY([[maybe_unused]] auto sent, send(bytes));
        scale_kernel<<<blocks_for(job.count), kThreads, 0, stream_>>>(job);
        quantize_kernel<<<blocks_for(job.count * tiles_of(job.longest)), kThreads, 0, stream_>>>(job);
        GRADZ_TRY([[maybe_unused]] auto started, launched());
        return receive(results);
    }
    Result<Done> run(const DecodeJob& job, std::size_t bytes, std::size_t results) override {
        GRADZ_TRY([[maybe_unused]] auto sent, send(bytes));
        decode_kernel<<<blocks_for(job.count * tiles_of(job.longest)), kThreads, 0, stream_>>>(job);
        GRADZ_TRY([[maybe_unused]] auto started, launched());
        return receive(results);
    }

    cudaStream_t stream_ = nullptr;
};

}  // namespace

Result<Done> probe() {
    int devices = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess)
        return Error{Errc::unsupported, cudaGetErrorString(status), ""};
    if (devices == 0) return Error{Errc::unsupported, "no CUDA device", ""};
    if (const cudaError_t status = cudaFree(nullptr); status != cudaSuccess)  // makes the context
        return Error{Errc::unsupported, cudaGetErrorString(status), ""};
    return Done{};
}

Result<std::unique_ptr<BlockEngine>> open_engine() {
    auto engine = std::make_unique<Engine>();
    GRADZ_TRY([[maybe_unused]] auto opened, engine->open());
    return std::unique_ptr<BlockEngine>(std::move(engine));
}

}  // namespace gradz::kernels::cuda
