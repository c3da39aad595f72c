// float32 to the other floats of gradients and back, to nearest even. In integers, though
// x86 has instructions: the same bits come out on every target. A NaN stays one: made
// quiet, with its sign and the upper bits of its payload, as those instructions do.
// float64 needs no code of ours: the hardware's conversion is all of this.
#pragma once

#include "kernels/element.hpp"

namespace gradz::kernels {

constexpr std::int32_t kInfinity = 0x7f800000, kQuiet = 0x00400000;

// The 16 bits of a float16. Adding 1/2 to a magnitude below 2^-14 leaves the rounded
// multiple of 2^-24, the subnormal, in the low bits of the sum.
GRADZ_ELEMENT std::int32_t f16_bits(float x) {
    const std::int32_t bits = to_bits(x), a = bits & 0x7fffffff;
    const std::int32_t normal = (a - (112 << 23) + 0xfff + (a >> 13 & 1)) >> 13;
    const std::int32_t subnormal = to_bits(from_bits(a) + 0.5f) - 0x3f000000;
    std::int32_t h = a < 0x38800000 ? subnormal : normal;
    h = h < 0x7c00 ? h : 0x7c00;
    h = a > kInfinity ? 0x7e00 | (a >> 13 & 0x3ff) : h;
    return (bits >> 16 & 0x8000) | h;
}

GRADZ_ELEMENT float f16_value(std::int32_t h) {  // 0 <= h < 2^16; exact
    const std::int32_t a = h & 0x7fff;
    const std::int32_t subnormal = to_bits(static_cast<float>(a) * 0x1p-24f);
    const std::int32_t normal = (a << 13) + (112 << 23);
    const std::int32_t special = ((a << 13) + (224 << 23)) | (a > 0x7c00 ? kQuiet : 0);
    return from_bits((h & 0x8000) << 16 | (a < 0x400 ? subnormal : a < 0x7c00 ? normal : special));
}

// The 16 bits of a bfloat16, the upper half of a float32.
GRADZ_ELEMENT std::int32_t bf16_bits(float x) {
    const std::int32_t bits = to_bits(x), a = bits & 0x7fffffff;
    const std::int32_t half = 0x7fff + (a >> 16 & 1);  // a NaN plus that leaves int32
    const auto rounded =
        static_cast<std::int32_t>((static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(half)) >> 16);
    return (bits >> 16 & 0x8000) | (a > kInfinity ? (a | kQuiet) >> 16 : rounded);
}

GRADZ_ELEMENT float bf16_value(std::int32_t h) {  // 0 <= h < 2^16; exact
    const std::int32_t bits = h << 16;
    return from_bits((bits & 0x7fffffff) > kInfinity ? bits | kQuiet : bits);
}

}  // namespace gradz::kernels
