// Elements of quantizable tensors to float32 and back, by the kernels.
#pragma once

#include <cstddef>
#include <span>

#include "core/tensor.hpp"
#include "kernels/kernels.hpp"
#include "kernels/scale_element.hpp"

namespace gradz {

// bytes: [x.size() * size_of(dtype)], little-endian, any alignment. Nearest even; what is
// too large becomes infinite, NaN stays NaN. Returns how many elements were not zero and
// became so (only float64 can). float32 is a copy. Precondition: quantizable(dtype).
std::size_t to_float32(const kernels::Kernels& kernels, DType dtype, std::span<const std::byte> bytes,
                       std::span<float> x);

// The other way, to nearest even.
void from_float32(const kernels::Kernels& kernels, DType dtype, std::span<const float> x, std::span<std::byte> bytes);

// Precondition: quantizable(dtype).
kernels::FloatType float_type(DType dtype);

// |x| as an element of dtype is finite.
bool finite_as(DType dtype, float x);

}  // namespace gradz
