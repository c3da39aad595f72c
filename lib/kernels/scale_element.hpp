// The scale of a bucket, made of its norm: the only definition of this rule, for the host and
// devices.
#pragma once

#include <cmath>

#include "kernels/convert_element.hpp"

namespace gradz::kernels {

enum class FloatType : std::uint8_t { f32, f64, f16, bf16 };

// |x| as an element of this type is finite. Every finite float32 is so as a float64.
GRADZ_ELEMENT bool finite_as(FloatType type, float x) {
    switch (type) {
        case FloatType::f16: return (f16_bits(x) & 0x7fff) < 0x7c00;
        case FloatType::bf16: return (bf16_bits(x) & 0x7fff) < 0x7f80;
        default: return (to_bits(x) & 0x7fffffff) < kInfinity;
    }
}

struct ScaleRule {
    bool linf;      // the norm is the largest magnitude, else a sum of squares
    FloatType out;  // what decoded values become
    float last;     // the largest level
};

struct BucketScale {
    float S;       // in the units of x; 0 exactly when every element is +0 or -0
    bool escaped;  // no symbols: the bucket is stored bit for bit
};

// norm: of a whole bucket; NaN or infinite if an element is not finite. vanished: an element is
// not zero though its float32 is. The sum of squares of float32 is never 0 beside a non-zero one,
// so that a zero S with a non-zero norm is an underflow of the float32 alone; it escapes like a
// subnormal one. A NaN is not normal either.
GRADZ_ELEMENT BucketScale bucket_scale(double norm, bool vanished, const ScaleRule& rule) {
    if (norm == 0) return {0, vanished};
    const float S = static_cast<float>(rule.linf ? norm : std::sqrt(norm));
    const bool normal = S >= 0x1p-126f && S <= 0x1.fffffep127f;
    return {S, !normal || !finite_as(rule.out, S * rule.last)};
}

}  // namespace gradz::kernels
