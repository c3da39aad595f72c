// The zstd frames of ORIGIN and INDEX: varint size, then one frame of `size` bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/error.hpp"

namespace gradz {

Result<Done> pack(std::span<const std::byte> contents, std::vector<std::byte>& body);

// Errc::corrupt, before anything is allocated, if the size exceeds `most` or what a frame
// of that many bytes can hold.
Result<std::vector<std::byte>> unpack(std::span<const std::byte> body, std::uint64_t most);

}  // namespace gradz
