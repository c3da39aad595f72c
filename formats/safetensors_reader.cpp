// Tensors of a safetensors file: their bytes lie flat in the mapping.
#include <string>
#include <utility>

#include "formats/names.hpp"
#include "formats/readers.hpp"
#include "formats/safetensors_header.hpp"

namespace gradz::formats {

namespace {

class Elements final : public ChunkSource {
public:
    // begin: byte of the file where the tensor's elements begin, `size` bytes each.
    Elements(MappedFile& file, std::uint64_t begin, std::uint64_t size) : file_(file), begin_(begin), size_(size) {}

    Access access() const override { return Access::random; }

    Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>&) override {
        return file_.bytes().subspan(begin_ + chunk.first * size_, chunk.count * size_);
    }

    Result<Done> release(Chunk chunk) override {
        return file_.release(begin_ + chunk.first * size_, chunk.count * size_);
    }

private:
    MappedFile& file_;
    std::uint64_t begin_, size_;
};

class SafetensorsReader final : public TensorReader {
public:
    SafetensorsReader(std::shared_ptr<MappedFile> file, SafetensorsHeader header)
        : file_(std::move(file)), tensors_(std::move(header.tensors)), offsets_(std::move(header.offsets)) {
        origin_.set("", "format", "safetensors");
        for (auto& [key, value] : header.metadata) origin_.set("", "metadata:" + key, std::move(value));
    }

    const std::vector<TensorInfo>& tensors() const override { return tensors_; }
    const std::vector<Skipped>& skipped() const override { return skipped_; }
    const Origin& origin() const override { return origin_; }
    const std::vector<std::string>& warnings() const override { return warnings_; }
    bool rereadable() const override { return true; }

    Result<std::unique_ptr<ChunkSource>> open(std::size_t index) override {
        return std::unique_ptr<ChunkSource>(
            std::make_unique<Elements>(*file_, offsets_[index], size_of(tensors_[index].dtype)));
    }

    Result<Done> finish() override { return file_->unchanged(); }

private:
    std::shared_ptr<MappedFile> file_;
    std::vector<TensorInfo> tensors_;
    std::vector<std::uint64_t> offsets_;  // of each tensor's first byte in the file
    Origin origin_;
    std::vector<Skipped> skipped_;       // always empty: every dtype is carried or refused
    std::vector<std::string> warnings_;  // always empty
};

}  // namespace

Result<std::unique_ptr<TensorReader>> open_safetensors(std::shared_ptr<MappedFile> file, const FileIdentity& identity,
                                                       const ReadOptions& options) {
    GRADZ_TRY(auto header, parse_safetensors(file->bytes()));
    for (auto& info : header.tensors) place_tensor(info, identity, options);
    return std::unique_ptr<TensorReader>(std::make_unique<SafetensorsReader>(std::move(file), std::move(header)));
}

}  // namespace gradz::formats
