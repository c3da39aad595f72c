// The elements of one dataset.
#pragma once

#include <memory>

#include "core/source.hpp"
#include "formats/hdf5_visit.hpp"

namespace gradz::formats {

// Access::random from the mapped file where the values lie flat, and by chunks (hdf5_chunks.hpp); else
// Access::forward through libhdf5, a box of at most kLargestBox at a time. memory: bytes for a chunk cache.
Result<std::unique_ptr<ChunkSource>> make_hdf5_source(hid_t file, std::shared_ptr<MappedFile> mapped,
                                                      const TensorInfo& info, const Hdf5Place& place,
                                                      std::uint64_t memory);

}  // namespace gradz::formats
