#include "formats/hdf5_target.hpp"

#include <algorithm>

namespace gradz::formats {

Result<Hdf5Target> Hdf5Target::open(hid_t file, const Hdf5Dataset& dataset, std::uint64_t memory) {
    const auto& info = dataset.info;
    Hdf5Target out(dataset, Hdf5Tiling(info.shape, dataset.chunk, size_of(info.dtype)));
    GRADZ_TRY(const auto access, out.tiling_.access_properties(memory));
    GRADZ_TRY(out.id_, checked(H5Dopen2(file, dataset.path.c_str(), access.get())));
    GRADZ_TRY(out.type_, make_hdf5_type(info.dtype, dataset.big_endian));
    return out;
}

Result<Done> Hdf5Target::write(std::span<const std::byte> bytes) {
    const auto size = size_of(dataset_->info.dtype);
    while (!bytes.empty()) {
        const auto box = tiling_.box_at(at_);
        const auto take = std::min<std::uint64_t>(bytes.size(), (box.first + box.count - at_) * size);
        const auto part = bytes.first(take);
        bytes = bytes.subspan(take);
        at_ += take / size;
        if (take == box.count * size && !dataset_->big_endian) {
            GRADZ_TRY(Done{}, store(box, part.data()));
            continue;
        }
        values_.insert(values_.end(), part.begin(), part.end());
        if (at_ < box.first + box.count) continue;
        if (dataset_->big_endian) swap_words(values_, row_of(dataset_->info.dtype).word);
        GRADZ_TRY(Done{}, store(box, values_.data()));
        values_.clear();
    }
    return Done{};
}

Result<Done> Hdf5Target::store(Chunk box, const std::byte* values) {
    GRADZ_TRY(const auto file_space, checked(H5Dget_space(id_.get())));
    const hsize_t count = box.count;
    GRADZ_TRY(const auto memory_space, checked(H5Screate_simple(1, &count, nullptr)));
    GRADZ_TRY(Done{}, tiling_.select(file_space.get(), box));
    if (H5Dwrite(id_.get(), type_.get(), memory_space.get(), file_space.get(), H5P_DEFAULT, values) < 0)
        return hdf5_error(Errc::io, "", "");
    return Done{};
}

}  // namespace gradz::formats
