// The engine of a device, emulated: memory of its own, and the bodies of the device's kernels on
// every warp of a grid, one warp after another.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/bodies.hpp"
#include "kernels/cuda/engine.hpp"

namespace gradz::test {

class HostEngine final : public kernels::cuda::BlockEngine {
public:
    // warps: of the grid, whatever the job. fail_after: that many launches succeed.
    explicit HostEngine(std::uint64_t warps, int fail_after = -1) : warps_(warps), fail_after_(fail_after) {}

private:
    // Sections are found by alignment to 256, as the device's allocator gives it.
    struct Block {
        explicit Block(std::size_t size) : bytes(size + 256, std::byte{0xAB}) {}
        std::byte* begin() {
            void* at = bytes.data();
            std::size_t space = bytes.size();
            return static_cast<std::byte*>(std::align(256, bytes.size() - 256, at, space));
        }
        std::vector<std::byte> bytes;
    };

    Result<Done> reserve(Buffer& buffer, std::size_t bytes, std::size_t keep) override {
        if (bytes <= buffer.size) return Done{};
        auto host = std::make_unique<Block>(bytes), device = std::make_unique<Block>(bytes);
        if (keep > 0) std::memcpy(host->begin(), buffer.host, std::min(keep, buffer.size));
        buffer = {host->begin(), device->begin(), bytes};
        blocks_.push_back(std::move(host));  // the old ones stay: a pointer kept too long is found by its values
        blocks_.push_back(std::move(device));
        return Done{};
    }

    template <class Launch>
    Result<Done> run(std::size_t bytes, std::size_t results, Launch launch) {
        if (fail_after_ == 0) return Error{Errc::io, "cudaMemcpyAsync: emulated failure", "CUDA device"};
        if (fail_after_ > 0) --fail_after_;
        std::memcpy(in_.device, in_.host, bytes);
        launch();
        if (results > 0) std::memcpy(out_.host, out_.device, results);
        return Done{};
    }

    Result<Done> run(const kernels::cuda::QuantizeJob& job, std::size_t bytes, std::size_t results) override {
        return run(bytes, results, [&] {
            for (std::uint64_t w = 0; w < warps_; ++w) kernels::cuda::scale_pieces(job, {w, warps_});
            for (std::uint64_t w = warps_; w-- > 0;) kernels::cuda::quantize_pieces(job, {w, warps_});
        });
    }
    Result<Done> run(const kernels::cuda::DecodeJob& job, std::size_t bytes, std::size_t results) override {
        return run(bytes, results, [&] {
            for (std::uint64_t w = 0; w < warps_; ++w) kernels::cuda::decode_pieces(job, {w, warps_});
        });
    }

    std::uint64_t warps_;
    int fail_after_;
    std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace gradz::test
