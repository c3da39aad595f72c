#include "formats/hdf5_tiling.hpp"

#include <algorithm>

namespace gradz::formats {

Hdf5Tiling::Hdf5Tiling(std::vector<std::uint64_t> shape, const std::vector<std::uint64_t>& chunk, std::uint64_t element)
    : shape_(std::move(shape)) {
    if (shape_.empty()) return;
    for (const auto d : shape_) row_ *= d;
    const std::uint64_t most = kLargestBox / element;
    for (axis_ = 0;; ++axis_) {
        row_ /= shape_[axis_];
        if (row_ <= most) break;  // holds for the last axis
    }
    const std::uint64_t height = chunk.empty() ? 1 : chunk[axis_];
    step_ = most / row_;
    if (step_ > height) step_ -= step_ % height;
    step_ = std::min(step_, shape_[axis_]);
    if (!chunk.empty()) find_shared(chunk, element);
}

void Hdf5Tiling::find_shared(const std::vector<std::uint64_t>& chunk, std::uint64_t element) {
    bool shared = step_ % chunk[axis_] != 0 && step_ < shape_[axis_];
    for (std::size_t i = 0; i < axis_; ++i) shared |= chunk[i] > 1;
    if (!shared) return;
    std::uint64_t chunks = 1, bytes = element;  // one row of chunks along axis 0
    for (std::size_t i = 0; i < shape_.size(); ++i) {
        bool overflow = __builtin_mul_overflow(bytes, chunk[i], &bytes);
        const std::uint64_t across = i == 0 ? 1 : (shape_[i] - 1) / chunk[i] + 1;
        overflow |= __builtin_mul_overflow(chunks, across, &chunks);
        if (overflow) bytes = chunks = ~std::uint64_t{0} >> 32;
    }
    shared_chunks_ = chunks;
    if (__builtin_mul_overflow(bytes, chunks, &shared_bytes_)) shared_bytes_ = ~std::uint64_t{0};
}

Chunk Hdf5Tiling::box_at(std::uint64_t element) const {
    if (shape_.empty()) return {0, 1};
    const std::uint64_t index = element / row_ % shape_[axis_];  // along the axis
    const std::uint64_t first = index - index % step_;
    return {(element / row_ - index + first) * row_, std::min(step_, shape_[axis_] - first) * row_};
}

Result<Done> Hdf5Tiling::select(hid_t space, Chunk box) const {
    if (shape_.empty()) return Done{};  // a scalar: all of it
    std::vector<hsize_t> start(shape_.size(), 0), count(shape_.begin(), shape_.end());
    std::uint64_t left = box.first / row_;
    for (std::size_t i = axis_ + 1; i-- > 0; left /= shape_[i]) {
        start[i] = left % shape_[i];
        count[i] = i == axis_ ? box.count / row_ : 1;
    }
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0)
        return hdf5_error(Errc::io, "", "");
    return Done{};
}

Result<Hid> Hdf5Tiling::access_properties(std::uint64_t memory) const {
    GRADZ_TRY(auto properties, checked(H5Pcreate(H5P_DATASET_ACCESS)));
    if (shared_bytes_ == 0) return properties;
    // Slots are hashed: ten times as many as chunks, so that few collide and push each other out.
    constexpr std::uint64_t kMostSlots = 1'000'003;
    const std::uint64_t slots = std::min(std::min(shared_chunks_, kMostSlots) * 10 + 1, kMostSlots);
    if (H5Pset_chunk_cache(properties.get(), slots, std::min(shared_bytes_, memory), 1.0) < 0)
        return hdf5_error(Errc::io, "", "");
    return properties;
}

}  // namespace gradz::formats
