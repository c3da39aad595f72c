#include "stats/widen.hpp"

#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace gradz {
namespace {

struct Half {
    std::uint16_t bits;
    // Moved into a float's exponent field and scaled by 2^(127 - 15), which normalizes
    // subnormals as well; infinity and NaN get the float's largest exponent instead.
    explicit operator double() const {
        const std::uint32_t moved = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
        const std::uint32_t special = moved | 0x7f800000u;
        const float value =
            (bits & 0x7c00u) == 0x7c00u ? std::bit_cast<float>(special) : std::bit_cast<float>(moved) * 0x1p112f;
        const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
    }
};

struct BrainHalf {
    std::uint16_t bits;
    explicit operator double() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

template <class T>
void widen_as(std::span<const std::byte> bytes, std::span<double> out) {
    assert(bytes.size() == out.size() * sizeof(T));
    for (std::size_t i = 0; i < out.size(); ++i) {
        T value;
        std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
        out[i] = static_cast<double>(value);
    }
}

}  // namespace

std::size_t doubles_per_element(DType dtype) {
    if (dtype >= DType::f8_e4m3) return 0;
    return dtype == DType::c64 || dtype == DType::c128 ? 2 : 1;
}

void widen(DType dtype, std::span<const std::byte> bytes, std::span<double> out) {
    switch (dtype) {
        case DType::f32:
        case DType::c64: return widen_as<float>(bytes, out);
        case DType::f64:
        case DType::c128: return widen_as<double>(bytes, out);
        case DType::f16: return widen_as<Half>(bytes, out);
        case DType::bf16: return widen_as<BrainHalf>(bytes, out);
        case DType::i8: return widen_as<std::int8_t>(bytes, out);
        case DType::u8:
        case DType::boolean: return widen_as<std::uint8_t>(bytes, out);
        case DType::i16: return widen_as<std::int16_t>(bytes, out);
        case DType::u16: return widen_as<std::uint16_t>(bytes, out);
        case DType::i32: return widen_as<std::int32_t>(bytes, out);
        case DType::u32: return widen_as<std::uint32_t>(bytes, out);
        case DType::i64: return widen_as<std::int64_t>(bytes, out);
        case DType::u64: return widen_as<std::uint64_t>(bytes, out);
        default: assert(false);
    }
}

}  // namespace gradz
