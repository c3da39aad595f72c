// A dataset cut into boxes that are contiguous in C order, so that a stream of elements can
// be read or written box by box.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.hpp"
#include "formats/hdf5_handle.hpp"

namespace gradz::formats {

constexpr std::uint64_t kLargestBox = std::uint64_t{16} << 20;  // bytes

// A box is `step` rows along `axis` (fewer at its end), one index of every axis before it and
// all of every axis behind it. Where a row of chunks along axis 0 fits kLargestBox, boxes are
// whole rows of chunks, and each chunk is filtered once.
class Hdf5Tiling {
public:
    // shape: as TensorInfo, without a zero. chunk: of the same rank, or empty if the dataset
    // is not chunked. element: bytes.
    Hdf5Tiling(std::vector<std::uint64_t> shape, const std::vector<std::uint64_t>& chunk, std::uint64_t element);

    Chunk box_at(std::uint64_t element) const;  // the box with that element

    // space: of the dataset. box: as box_at() gives it.
    Result<Done> select(hid_t space, Chunk box) const;

    // Bytes of chunks that more than one box touches at a time: what the chunk cache should
    // hold. 0 if boxes share no chunk.
    std::uint64_t shared_bytes() const { return shared_bytes_; }
    std::uint64_t shared_chunks() const { return shared_chunks_; }

    // For H5Dopen: a chunk cache of shared_bytes(), or of `memory` if that is less.
    Result<Hid> access_properties(std::uint64_t memory) const;

private:
    void find_shared(const std::vector<std::uint64_t>& chunk, std::uint64_t element);

    std::vector<std::uint64_t> shape_;
    std::size_t axis_ = 0;
    std::uint64_t step_ = 1, row_ = 1;  // row_: elements of one index of `axis_`
    std::uint64_t shared_bytes_ = 0, shared_chunks_ = 0;
};

}  // namespace gradz::formats
