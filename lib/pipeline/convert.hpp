// Elements of any quantizable dtype to float32 and back, by the kernels of this CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tensor.hpp"
#include "kernels/kernels.hpp"

namespace gradz {

// bytes: x.size() elements of `dtype`, little-endian, any alignment. Returns how many
// float64 elements were not zero but are in float32.
std::uint64_t to_float32(const kernels::Kernels& kernels, const std::byte* bytes, DType dtype, std::span<float> x);

// Nearest even. bytes: [x.size() * size_of(dtype)], any alignment.
void from_float32(const kernels::Kernels& kernels, std::span<const float> x, DType dtype, std::byte* bytes);

// Index of the first element from `from` on that is NaN or infinite; their number if none is.
std::uint64_t find_nonfinite(std::span<const std::byte> bytes, DType dtype, std::uint64_t from);

}  // namespace gradz
