// NaN and infinity in the elements as they lie in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tensor.hpp"

namespace gradz {

// Index of the first element from `from` on that is NaN or infinite; their number if none is.
// bytes: whole elements of a quantizable dtype, little-endian, any alignment.
std::uint64_t find_nonfinite(std::span<const std::byte> bytes, DType dtype, std::uint64_t from);

}  // namespace gradz
