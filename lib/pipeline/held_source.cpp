#include "pipeline/held_source.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/feed.hpp"

namespace gradz {
namespace {

using Buffer = std::shared_ptr<const std::vector<std::byte>>;

class HeldChunks : public ChunkSource {
public:
    HeldChunks(Buffer bytes, std::size_t width) : bytes_(std::move(bytes)), width_(width) {}

    Access access() const override { return Access::random; }
    Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>&) override {
        return std::span(*bytes_).subspan(chunk.first * width_, chunk.count * width_);
    }

private:
    Buffer bytes_;
    std::size_t width_;
};

class Held : public TensorSource {
public:
    Held(TensorSource& source, std::vector<Buffer> bytes) : source_(source), bytes_(std::move(bytes)) {}

    const std::vector<TensorInfo>& tensors() const override { return source_.tensors(); }
    bool rereadable() const override { return true; }
    Result<std::unique_ptr<ChunkSource>> open(std::size_t index) override {
        return std::unique_ptr<ChunkSource>(
            std::make_unique<HeldChunks>(bytes_[index], size_of(tensors()[index].dtype)));
    }

private:
    TensorSource& source_;
    std::vector<Buffer> bytes_;
};

}  // namespace

Result<std::unique_ptr<TensorSource>> hold(TensorSource& source, std::uint64_t memory) {
    Feed feed(source);
    std::vector<Buffer> held;
    std::uint64_t left = memory;
    for (std::size_t t = 0; t < source.tensors().size(); ++t) {
        GRADZ_TRY(const auto elements, source.tensors()[t].numel());
        const std::uint64_t width = size_of(source.tensors()[t].dtype);
        if (elements * width > left)
            return Error{Errc::unsupported,
                         "this spec reads tensors twice, and a pipe does not fit " + std::to_string(memory) +
                             " bytes: raise --memory or give a file",
                         "tensor " + source.tensors()[t].name};
        left -= elements * width;
        auto bytes = std::make_shared<std::vector<std::byte>>();
        Load load;
        for (std::uint64_t at = 0; at < elements; at += kChunkTarget) {  // grows as data arrives
            GRADZ_TRY([[maybe_unused]] auto begun, feed.begin({t, at, std::min(kChunkTarget, elements - at)}, load));
            GRADZ_TRY([[maybe_unused]] auto ended, feed.end(load));
            bytes->insert(bytes->end(), load.bytes().begin(), load.bytes().end());
            GRADZ_TRY([[maybe_unused]] auto released, feed.release(load));
        }
        held.push_back(std::move(bytes));
    }
    return std::unique_ptr<TensorSource>(std::make_unique<Held>(source, std::move(held)));
}

}  // namespace gradz
