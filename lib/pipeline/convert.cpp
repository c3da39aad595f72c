#include "pipeline/convert.hpp"

#include <cassert>
#include <cstring>

namespace gradz {
namespace {

const std::uint8_t* raw(const std::byte* bytes) { return reinterpret_cast<const std::uint8_t*>(bytes); }
std::uint8_t* raw(std::byte* bytes) { return reinterpret_cast<std::uint8_t*>(bytes); }

// The exponent is all ones.
template <class Word>
std::uint64_t find(std::span<const std::byte> bytes, Word exponent, std::uint64_t from) {
    const std::uint64_t n = bytes.size() / sizeof(Word);
    for (std::uint64_t i = from; i < n; ++i) {
        Word word;
        std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
        if ((word & exponent) == exponent) return i;
    }
    return n;
}

}  // namespace

std::uint64_t to_float32(const kernels::Kernels& kernels, const std::byte* bytes, DType dtype, std::span<float> x) {
    switch (dtype) {
        case DType::f16: kernels.f32_from_f16(raw(bytes), x.size(), x.data()); return 0;
        case DType::bf16: kernels.f32_from_bf16(raw(bytes), x.size(), x.data()); return 0;
        case DType::f64: return kernels.f32_from_f64(raw(bytes), x.size(), x.data());
        default:
            assert(dtype == DType::f32);
            std::memcpy(x.data(), bytes, x.size_bytes());
            return 0;
    }
}

void from_float32(const kernels::Kernels& kernels, std::span<const float> x, DType dtype, std::byte* bytes) {
    switch (dtype) {
        case DType::f16: kernels.f16_from_f32(x.data(), x.size(), raw(bytes)); return;
        case DType::bf16: kernels.bf16_from_f32(x.data(), x.size(), raw(bytes)); return;
        case DType::f64: kernels.f64_from_f32(x.data(), x.size(), raw(bytes)); return;
        default: assert(dtype == DType::f32); std::memcpy(bytes, x.data(), x.size_bytes());
    }
}

std::uint64_t find_nonfinite(std::span<const std::byte> bytes, DType dtype, std::uint64_t from) {
    switch (dtype) {
        case DType::f64: return find<std::uint64_t>(bytes, 0x7ff0000000000000u, from);
        case DType::f16: return find<std::uint16_t>(bytes, 0x7c00u, from);
        case DType::bf16: return find<std::uint16_t>(bytes, 0x7f80u, from);
        default: return find<std::uint32_t>(bytes, 0x7f800000u, from);
    }
}

}  // namespace gradz
