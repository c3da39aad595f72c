// What .npy files and raw values have in common: one tensor whose elements lie flat.
#pragma once

#include <memory>

#include "formats/npy_header.hpp"
#include "formats/readers.hpp"

namespace gradz::formats {

// header.data_offset: where the elements start in `file`; they must reach its end exactly.
// Errc::truncated or corrupt otherwise. format: for the origin, "npy" or "raw".
Result<std::unique_ptr<TensorReader>> open_flat(std::shared_ptr<MappedFile> file, NpyHeader header,
                                                std::string_view format, const FileIdentity& identity,
                                                const ReadOptions& options);

// The same from a pipe that stands at the first element. Fortran order is held whole:
// Errc::unsupported naming --memory where options.memory is too small.
Result<std::unique_ptr<TensorReader>> open_flat_stream(std::unique_ptr<ByteSource> pipe, NpyHeader header,
                                                       std::string_view format, const FileIdentity& identity,
                                                       const ReadOptions& options);

}  // namespace gradz::formats
