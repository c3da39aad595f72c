// The elements of one dataset, on their way into the file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/tensor.hpp"
#include "formats/hdf5_tiling.hpp"
#include "formats/hdf5_types.hpp"

namespace gradz::formats {

// A dataset that was created but may not be written yet.
struct Hdf5Dataset {
    TensorInfo info;
    std::string path;                  // absolute
    std::vector<std::uint64_t> chunk;  // empty if not chunked
    std::uint64_t elements = 0;
    bool big_endian = false;
};

// Gathers boxes of the dataset's tiling, so that every chunk is filtered once, and hands them
// over in the file's own type: libhdf5 converts nothing.
class Hdf5Target {
public:
    // memory: bytes for a chunk cache, where boxes share chunks. `dataset` must outlive it.
    static Result<Hdf5Target> open(hid_t file, const Hdf5Dataset& dataset, std::uint64_t memory);

    // The next elements, little-endian in the tensor's dtype; whole ones.
    Result<Done> write(std::span<const std::byte> bytes);

    std::uint64_t written() const { return at_; }
    const Hdf5Dataset& dataset() const { return *dataset_; }

    // Errc::io if the chunk cache cannot be written.
    Result<Done> close() { return id_.close(); }

private:
    Hdf5Target(const Hdf5Dataset& dataset, Hdf5Tiling tiling) : dataset_(&dataset), tiling_(std::move(tiling)) {}
    Result<Done> store(Chunk box, const std::byte* values);

    const Hdf5Dataset* dataset_;
    Hdf5Tiling tiling_;
    Hid id_, type_;
    std::vector<std::byte> values_;  // of the box that is not complete yet
    std::uint64_t at_ = 0;           // elements
};

}  // namespace gradz::formats
