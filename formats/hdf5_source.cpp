#include "formats/hdf5_source.hpp"

#include <algorithm>

#include "formats/hdf5_chunks.hpp"
#include "formats/hdf5_layout.hpp"
#include "formats/hdf5_tiling.hpp"
#include "formats/hdf5_types.hpp"

namespace gradz::formats {
namespace {

class FlatSource final : public ChunkSource {
public:
    FlatSource(std::shared_ptr<MappedFile> mapped, std::uint64_t offset, DType dtype, bool swap)
        : mapped_(std::move(mapped)), offset_(offset), size_(size_of(dtype)), word_(swap ? row_of(dtype).word : 1) {}

    Access access() const override { return Access::random; }

    Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>& buffer) override {
        const auto bytes = mapped_->bytes().subspan(offset_ + chunk.first * size_, chunk.count * size_);
        if (word_ == 1) return bytes;
        if (buffer.size() < bytes.size()) buffer.resize(bytes.size());
        const std::span swapped(buffer.data(), bytes.size());
        std::copy(bytes.begin(), bytes.end(), swapped.begin());
        swap_words(swapped, word_);
        return std::span<const std::byte>(swapped);
    }

    Result<Done> release(Chunk chunk) override {
        return mapped_->release(offset_ + chunk.first * size_, chunk.count * size_);
    }

private:
    std::shared_ptr<MappedFile> mapped_;
    std::uint64_t offset_, size_;
    std::size_t word_;
};

class BoxSource final : public ChunkSource {
public:
    BoxSource(Hid dataset, Hid memory_type, Hdf5Tiling tiling, const TensorInfo& info, bool swap)
        : dataset_(std::move(dataset)),
          memory_type_(std::move(memory_type)),
          tiling_(std::move(tiling)),
          name_(info.name),
          size_(size_of(info.dtype)),
          word_(swap ? row_of(info.dtype).word : 1) {}

    Access access() const override { return Access::forward; }

    Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>& buffer) override {
        const std::size_t bytes = chunk.count * size_;
        if (buffer.size() < bytes) buffer.resize(bytes);
        for (std::uint64_t done = 0; done < chunk.count;) {
            const std::uint64_t at = chunk.first + done;
            if (at < box_.first || at >= box_.first + box_.count) { GRADZ_TRY(Done{}, load(tiling_.box_at(at))); }
            const auto count = std::min(chunk.count - done, box_.first + box_.count - at);
            std::copy_n(values_.data() + (at - box_.first) * size_, count * size_, buffer.data() + done * size_);
            done += count;
        }
        return std::span<const std::byte>(buffer.data(), bytes);
    }

private:
    Result<Done> load(Chunk box) {
        const Hdf5Session session;
        box_ = {};
        values_.resize(std::max(values_.size(), static_cast<std::size_t>(box.count * size_)));
        const Hid file_space(H5Dget_space(dataset_.get()));
        if (!file_space) return hdf5_error(Errc::io, "", "tensor " + name_);
        GRADZ_TRY(const auto memory_space, tiling_.select(file_space.get(), box));
        if (H5Dread(dataset_.get(), memory_type_.get(), memory_space.get(), file_space.get(), H5P_DEFAULT,
                    values_.data()) < 0)
            return hdf5_error(Errc::corrupt, "", "tensor " + name_);
        swap_words(std::span(values_.data(), box.count * size_), word_);
        box_ = box;
        return Done{};
    }

    Hid dataset_, memory_type_;
    Hdf5Tiling tiling_;
    std::string name_;
    std::size_t size_, word_;
    std::vector<std::byte> values_;  // of box_
    Chunk box_{};
};

// Opened by address, since hostile links may have slashes in their names; only a chunk cache
// of our own needs the path.
Result<Hid> open_dataset(hid_t file, const TensorInfo& info, const Hdf5Place& place, hid_t access) {
    const std::string path = "/" + info.name;
    if (place.by_path) {
        H5Pset_efile_prefix(access, "${ORIGIN}");  // external storage lies beside the file that names it
        return checked(H5Dopen2(file, path.c_str(), access));
    }
    Hid by_path(H5Dopen2(file, path.c_str(), access));
    H5O_info_t found{};
    if (by_path && H5Oget_info2(by_path.get(), &found, H5O_INFO_BASIC) >= 0 && found.addr == place.address)
        return by_path;
    by_path = Hid();
    return checked(H5Oopen_by_addr(file, place.address));
}

Result<Hdf5Tiling> tile(const TensorInfo& info, hid_t dataset) {
    const Hid properties(H5Dget_create_plist(dataset));
    if (!properties) return hdf5_error(Errc::corrupt, "", "");
    GRADZ_TRY(const auto chunk, chunk_of(properties.get(), info.shape.size()));
    return Hdf5Tiling(info.shape, chunk, size_of(info.dtype));
}

// By chunk where that can be, else by box.
Result<std::unique_ptr<ChunkSource>> make_source(hid_t file, const TensorInfo& info, const Hdf5Place& place,
                                                 std::uint64_t memory, std::uint64_t file_bytes) {
    GRADZ_TRY(auto access, checked(H5Pcreate(H5P_DATASET_ACCESS)));
    GRADZ_TRY(auto dataset, open_dataset(file, info, place, access.get()));
    const Hid type_id(H5Dget_type(dataset.get()));
    if (!type_id) return hdf5_error(Errc::corrupt, "", "");
    GRADZ_TRY(auto type, read_hdf5_type(type_id.get()));
    GRADZ_TRY(auto chunks, chunks_of(dataset.get(), type.memory.get(), info));
    if (chunks)
        return make_chunk_source(std::move(dataset), std::move(*chunks), place.big_endian ? row_of(info.dtype).word : 1,
                                 file_bytes, info.name);
    GRADZ_TRY(auto tiling, tile(info, dataset.get()));
    if (tiling.shared_bytes() > 0) {
        dataset = Hid();  // the cache is made by the first one to open it
        GRADZ_TRY(access, tiling.access_properties(memory));
        GRADZ_TRY(dataset, open_dataset(file, info, place, access.get()));
    }
    return std::unique_ptr<ChunkSource>(std::make_unique<BoxSource>(std::move(dataset), std::move(type.memory),
                                                                    std::move(tiling), info, place.big_endian));
}

class EmptySource final : public ChunkSource {
public:
    Access access() const override { return Access::random; }
    Result<std::span<const std::byte>> read(Chunk, std::vector<std::byte>&) override {
        return std::span<const std::byte>();
    }
};

}  // namespace

Result<std::unique_ptr<ChunkSource>> make_hdf5_source(hid_t file, std::shared_ptr<MappedFile> mapped,
                                                      const TensorInfo& info, const Hdf5Place& place,
                                                      std::uint64_t memory) {
    GRADZ_TRY(const auto elements, info.numel());
    const auto bytes = elements * size_of(info.dtype);
    if (elements == 0) return std::unique_ptr<ChunkSource>(std::make_unique<EmptySource>());
    if (place.offset) {
        const std::uint64_t size = mapped->bytes().size();
        if (*place.offset > size || size - *place.offset < bytes)
            return Error{Errc::truncated,
                         "values at byte " + std::to_string(*place.offset) + " want " + std::to_string(bytes) +
                             " bytes of a file of " + std::to_string(size),
                         "tensor " + info.name};
        return std::unique_ptr<ChunkSource>(
            std::make_unique<FlatSource>(std::move(mapped), *place.offset, info.dtype, place.big_endian));
    }
    auto source = make_source(file, info, place, memory, mapped->bytes().size());
    if (!source && source.error().where.empty()) source.error().where = "tensor " + info.name;
    return source;
}

}  // namespace gradz::formats
