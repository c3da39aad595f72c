// The elements of npy data as the codec wants them, and back: little-endian, in C order.
// Shared by .npy files, raw values and the members of .npz archives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/byte_io.hpp"
#include "core/source.hpp"
#include "core/tensor.hpp"
#include "formats/mapped_file.hpp"
#include "formats/npy_header.hpp"

namespace gradz::formats {

// Reverses every `word` bytes (1, 2, 4 or 8) of `bytes`, a whole number of words.
void swap_words(std::span<std::byte> bytes, unsigned word);

// Elements `chunk` in C order of an array of `shape` that lies in Fortran order at `source`.
// size: bytes of an element, 1 to 16, a power of two; out: chunk.count of them. Costs
// O(chunk.count). To turn C order into Fortran order, give the shape reversed.
void gather_fortran(std::span<const std::uint64_t> shape, std::uint64_t size, const std::byte* source, Chunk chunk,
                    std::byte* out);

// Random access to elements that lie flat in `file` from `offset` on; header says how. Where
// they are little-endian and in C order they are not copied. Precondition: they fit the file.
std::unique_ptr<ChunkSource> map_elements(std::shared_ptr<MappedFile> file, std::uint64_t offset, NpyHeader header);

// Writes the elements of one tensor, given in C order and little-endian, as `header` says.
class ElementWriter {
public:
    // memory: what Fortran order may hold, since its first column needs the last row.
    ElementWriter(NpyHeader header, std::uint64_t memory) : header_(std::move(header)), memory_(memory) {}

    // The next whole elements. Errc::unsupported naming --memory where that is too small.
    Result<Done> write(std::span<const std::byte> bytes, ByteSink& sink);
    // After the last element.
    Result<Done> finish(ByteSink& sink);

private:
    Result<Done> swapped(std::span<const std::byte> bytes, ByteSink& sink);

    NpyHeader header_;
    std::uint64_t memory_;
    std::vector<std::byte> held_, buffer_;
};

}  // namespace gradz::formats
