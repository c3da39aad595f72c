#include "quant/convert.hpp"

#include <cassert>
#include <cstring>

namespace gradz {

std::size_t to_float32(const kernels::Kernels& kernels, DType dtype, std::span<const std::byte> bytes,
                       std::span<float> x) {
    assert(quantizable(dtype) && bytes.size() == x.size() * size_of(dtype));
    const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data());
    if (x.empty()) return 0;
    switch (dtype) {
        case DType::f64: return kernels.f32_from_f64(from, x.size(), x.data());
        case DType::f16: kernels.f32_from_f16(from, x.size(), x.data()); return 0;
        case DType::bf16: kernels.f32_from_bf16(from, x.size(), x.data()); return 0;
        default: std::memcpy(x.data(), from, bytes.size()); return 0;
    }
}

void from_float32(const kernels::Kernels& kernels, DType dtype, std::span<const float> x, std::span<std::byte> bytes) {
    assert(quantizable(dtype) && bytes.size() == x.size() * size_of(dtype));
    auto* to = reinterpret_cast<std::uint8_t*>(bytes.data());
    if (x.empty()) return;
    switch (dtype) {
        case DType::f64: return kernels.f64_from_f32(x.data(), x.size(), to);
        case DType::f16: return kernels.f16_from_f32(x.data(), x.size(), to);
        case DType::bf16: return kernels.bf16_from_f32(x.data(), x.size(), to);
        default: std::memcpy(to, x.data(), bytes.size());
    }
}

kernels::FloatType float_type(DType dtype) {
    switch (dtype) {
        case DType::f64: return kernels::FloatType::f64;
        case DType::f16: return kernels::FloatType::f16;
        case DType::bf16: return kernels::FloatType::bf16;
        default: return kernels::FloatType::f32;
    }
}

bool finite_as(DType dtype, float x) { return kernels::finite_as(float_type(dtype), x); }

}  // namespace gradz
