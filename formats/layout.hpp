// What a file is, by its content. The extension is never asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gradz::formats {

enum class Layout : std::uint8_t { npy, npz, hdf5, safetensors, stream, pytorch, pickle, unknown };

// bytes: the whole file, since HDF5 may start at 512, 1024, 2048, ... and the names in a zip
// archive stand at its end. A damaged file has the layout that its start announces.
Layout detect_layout(std::span<const std::byte> bytes);

// Why a file of this layout is not read as a dump, in one sentence; empty if it is.
std::string why_not_read(Layout layout);

}  // namespace gradz::formats
