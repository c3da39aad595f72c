// Elements of any dtype as doubles, a block at a time: for statistics of tensors as they
// lie in a file.
#pragma once

#include <cstddef>
#include <span>

#include "core/tensor.hpp"

namespace gradz {

constexpr std::size_t kWidenBlock = 1024;

// How many doubles an element makes: 2 for complex (real, imaginary), 0 for those that
// widen() refuses: 8-bit floats.
std::size_t doubles_per_element(DType dtype);

// bytes: whole elements, little-endian, any alignment; out: doubles_per_element each. Exact
// but for 64-bit integers; NaN keeps the leading bits of its payload.
void widen(DType dtype, std::span<const std::byte> bytes, std::span<double> out);

}  // namespace gradz
