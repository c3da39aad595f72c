// NaN and infinity in the elements as they lie in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.hpp"

namespace gradz {

// What becomes of NaN and infinity in float tensors.
enum class NonFinite : std::uint8_t {
    keep,   // their buckets are stored bit for bit
    error,  // Errc::nonfinite names tensor and index
    zero,   // replaced by 0, and counted
};

// Index of the first element from `from` on that is NaN or infinite; their number if none is.
// bytes: whole elements of a quantizable dtype, little-endian, any alignment.
std::uint64_t find_nonfinite(std::span<const std::byte> bytes, DType dtype, std::uint64_t from);

// How many are NaN or infinite. If any, `cleaned` is set to the elements with +0 in their
// place; else it is left alone.
std::uint64_t zero_nonfinite(std::span<const std::byte> bytes, DType dtype, std::vector<std::byte>& cleaned);

}  // namespace gradz
