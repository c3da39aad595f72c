// Rounding of one element to a level: the only definition of this arithmetic. The scalar,
// AVX2, AVX-512 and CUDA loops inline it. One correctly rounded division; what follows is
// exact or one rounded product, so the outcome cannot depend on width or device.
#pragma once

#include "kernels/element.hpp"
#include "kernels/kernels.hpp"

namespace gradz::kernels {

// Between level k and k + 1, round up iff (h, l) < (hi, lo) in lexicographic order, h and l
// being the element's random halves: with probability (2^16 hi + lo) / 2^32.
struct Step {
    std::int32_t k, hi, lo;
};

GRADZ_ELEMENT std::int32_t rounds_up(Step step, std::int32_t h, std::int32_t l) {
    return (h < step.hi) | ((h == step.hi) & (l < step.lo));
}

// To the nearest level, halves to the even k: the same test with u = 2^31 - (k odd) in the
// place of the random bits, an l of -1 standing for (0x7fff, 0xffff).
GRADZ_ELEMENT std::int32_t rounds_to_nearest(Step step) { return rounds_up(step, 0x8000, -(step.k & 1)); }

// f in [0, 1) to 16 + 16 bits, exactly: scaling by 2^16 and taking the fraction are exact.
GRADZ_ELEMENT Step split(std::int32_t k, float f) {
    const float g = f * 65536.0f;
    const std::int32_t hi = static_cast<std::int32_t>(g);
    return {k, hi, static_cast<std::int32_t>((g - static_cast<float>(hi)) * 65536.0f)};
}

// Non-negative floats order like their bits. As integers since GCC turns that into one
// instruction, but a float minimum into branches and those into half a dozen blends.
GRADZ_ELEMENT float min_positive(float a, float b) {
    return from_bits(to_bits(a) < to_bits(b) ? to_bits(a) : to_bits(b));
}

// |x| / S, capped at the last level: the rounded S may be below |x|. S is normal and
// positive. Subnormal x is fine; a subnormal S is not, the caller has stored such a bucket raw.
GRADZ_ELEMENT float scaled(float x, float S, float top = 1.0f) {
    return min_positive(from_bits(to_bits(x) & 0x7fffffff) / S, top);
}

// x / S, capped at -top and top: division rounds alike on both sides of zero.
GRADZ_ELEMENT float scaled_signed(float x, float S, float top) {
    return from_bits((to_bits(x) & static_cast<std::int32_t>(0x80000000u)) | to_bits(scaled(x, S, top)));
}

// Levels 0 and 2^(k - m), k = 1..m, 1 <= m <= 127 (NUQSGD with p = 1/2, Ramezani-Kebrya et
// al., JMLR 22(114), 2021). The exponent of r is the level, its mantissa the probability;
// below level 1 that is r 2^(m-1), exact even for subnormal r. At m = 127 the factor is
// 2^126: 2^(m+15) in one step would not be a float32, so split() scales a second time.
struct ExponentialHalf {
    std::int32_t m;
    float factor;  // 2^(m - 1)

    GRADZ_MEMBER Step operator()(float r) const {
        const std::int32_t rb = to_bits(r), k = (rb >> 23) - 127 + m, mantissa = rb & 0x7fffff;
        const Step bottom = split(0, min_positive(r * factor, 0x1.fffffep-1f));
        const bool above = k > 0;
        return {above ? k : 0, above ? mantissa >> 7 : bottom.hi, above ? (mantissa & 0x7f) << 9 : bottom.lo};
    }
};

// Levels k / m, k = 0..m (QSGD, Alistarh et al., NIPS 2017). r m rounds once; at k = m the
// fraction is 0 and nothing rounds up.
struct Uniform {
    float m;

    GRADZ_MEMBER Step operator()(float r) const {
        const float q = r * m;
        const std::int32_t k = static_cast<std::int32_t>(q);
        return split(k, q - static_cast<float>(k));
    }
};

// Any strictly increasing levels. k is the largest with levels[k] <= r, level that level,
// weight = fl32(1 / (levels[k + 1] - levels[k])), or 0 at the top, where r = level. Two
// rounded operations after that of r; they may reach 1, which no threshold expresses.
GRADZ_ELEMENT Step table_step(std::int32_t k, float r, float level, float weight) {
    return split(k, min_positive((r - level) * weight, 0x1.fffffep-1f));
}

// The cell of r, |r| <= the last level: see TableView.
GRADZ_ELEMENT std::int32_t cell_of(const TableView& table, float r) {
    const std::int32_t bits = to_bits(r), cell = ((bits & 0x7fffffff) >> table.shift) - table.low;
    return (cell > 0 ? cell : 0) + (bits >> 31 & table.cells);
}

// The largest k with levels[k] <= r.
GRADZ_ELEMENT std::int32_t find_level(const TableView& table, float r) {
    std::int32_t k = table.start[cell_of(table, r)];
    for (std::int32_t i = 0; i < table.reach; ++i) k += r >= table.levels[k + 1];
    return k;
}

// 0 for level 0, else 2 k - 1 for +level k and 2 k for -level k.
GRADZ_ELEMENT std::int32_t signed_symbol(float x, std::int32_t level) {
    const std::int32_t symbol = 2 * level - 1 - (to_bits(x) >> 31);
    return symbol > 0 ? symbol : 0;
}

}  // namespace gradz::kernels
