// Chunked datasets whose filters are undone here: only the stored bytes of a chunk are fetched
// under the library's lock, so that workers inflate side by side.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/source.hpp"
#include "formats/hdf5_handle.hpp"

namespace gradz::formats {

// How the chunks of a dataset are stored: in C order, shuffled by bytes and then deflated, if at all.
struct Hdf5Chunks {
    std::vector<std::uint64_t> shape, chunk;  // of the dataset, and of a chunk; the same rank, at least 1
    std::size_t element = 1;                  // bytes
    bool shuffled = false, deflated = false;
    std::vector<std::byte> fill;  // [element]: of chunks that are not stored
};

// Nothing where libhdf5 has to read: other layouts or filters, types that it converts, chunks of
// which a row along axis 0 is more than 16 MiB. memory_type: what H5Dread would be asked for.
Result<std::optional<Hdf5Chunks>> chunks_of(hid_t dataset, hid_t memory_type, const TensorInfo& info);

// Access::random. word: bytes whose order is swapped, 1 for none. file_bytes: no stored chunk is
// longer. Memory: chunks that were read in part, at most two rows of them along axis 0 or 16 MiB,
// and those that workers hold.
std::unique_ptr<ChunkSource> make_chunk_source(Hid dataset, Hdf5Chunks layout, std::size_t word,
                                               std::uint64_t file_bytes, std::string tensor);

}  // namespace gradz::formats
