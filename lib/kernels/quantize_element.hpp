// Rounding of one element to a level: the only definition of this arithmetic. The scalar,
// AVX2, AVX-512 and CUDA loops inline it. One correctly rounded division; what follows is
// exact or one rounded product, so the outcome cannot depend on width or device.
#pragma once

#include "kernels/element.hpp"
#include "kernels/table_view.hpp"

namespace gradz::kernels {

// Between level k and k + 1, round up iff (h, l) < (hi, lo) in lexicographic order, h and l
// being the element's random halves: with probability (2^16 hi + lo) / 2^32.
template <class Lane>
struct Steps {
    typename Lane::I k, hi, lo;
};
using Step = Steps<SingleLane>;

GRADZ_ELEMENT std::int32_t rounds_up(Step step, std::int32_t h, std::int32_t l) {
    return (h < step.hi) | ((h == step.hi) & (l < step.lo));
}

// To the nearest level, halves to the even k: the same test with u = 2^31 - (k odd) in the
// place of the random bits, an l of -1 standing for (0x7fff, 0xffff). 1 or 0.
template <class Lane = SingleLane>
GRADZ_ELEMENT typename Lane::I rounds_to_nearest(const Steps<Lane>& step) {
    using I = typename Lane::I;
    const I half = I{} + 0x8000, l = -(step.k & 1);
    return -(Lane::less(half, step.hi) | (Lane::equal(half, step.hi) & Lane::less(l, step.lo)));
}

// f in [0, 1) to 16 + 16 bits, exactly: scaling by 2^16 and taking the fraction are exact.
template <class Lane = SingleLane>
GRADZ_ELEMENT Steps<Lane> split(typename Lane::I k, typename Lane::F f) {
    const typename Lane::F g = f * 65536.0f;
    const typename Lane::I hi = Lane::whole(g);
    return {k, hi, Lane::whole((g - Lane::value(hi)) * 65536.0f)};
}

// Non-negative floats order like their bits. As integers since GCC turns that into one
// instruction, but a float minimum into branches and those into half a dozen blends.
template <class Lane = SingleLane>
GRADZ_ELEMENT typename Lane::F min_positive(typename Lane::F a, float b) {
    using I = typename Lane::I;
    const I left = Lane::bits(a), right = I{} + to_bits(b);
    return Lane::floats(left < right ? left : right);
}

// |x| / S, capped at the last level: the rounded S may be below |x|. S is normal and
// positive. Subnormal x is fine; a subnormal S is not, the caller has stored such a bucket raw.
template <class Lane = SingleLane>
GRADZ_ELEMENT typename Lane::F scaled(typename Lane::F x, float S, float top = 1.0f) {
    return min_positive<Lane>(Lane::floats(Lane::bits(x) & 0x7fffffff) / S, top);
}

// x / S, capped at -top and top: division rounds alike on both sides of zero.
template <class Lane = SingleLane>
GRADZ_ELEMENT typename Lane::F scaled_signed(typename Lane::F x, float S, float top) {
    const typename Lane::I sign = Lane::bits(x) & static_cast<std::int32_t>(0x80000000u);
    return Lane::floats(sign | Lane::bits(scaled<Lane>(x, S, top)));
}

// Levels 0 and 2^(k - m), k = 1..m, 1 <= m <= 127 (NUQSGD with p = 1/2, Ramezani-Kebrya et
// al., JMLR 22(114), 2021). The exponent of r is the level, its mantissa the probability;
// below level 1 that is r 2^(m-1), exact even for subnormal r. At m = 127 the factor is
// 2^126: 2^(m+15) in one step would not be a float32, so split() scales a second time.
struct ExponentialHalf {
    std::int32_t m;
    float factor;  // 2^(m - 1)

    template <class Lane = SingleLane>
    GRADZ_MEMBER Steps<Lane> operator()(typename Lane::F r) const {
        using I = typename Lane::I;
        const I rb = Lane::bits(r), k = (rb >> 23) - (127 - m), zero = {};
        const Steps<Lane> bottom = split<Lane>(zero, r * factor);
        const auto above = k > zero;
        return {above ? k : zero, above ? rb >> 7 & 0xffff : bottom.hi, above ? (rb & 0x7f) << 9 : bottom.lo};
    }
};

// Levels k / m, k = 0..m (QSGD, Alistarh et al., NIPS 2017). r m rounds once; at k = m the
// fraction is 0 and nothing rounds up.
struct Uniform {
    float m;

    template <class Lane = SingleLane>
    GRADZ_MEMBER Steps<Lane> operator()(typename Lane::F r) const {
        const typename Lane::F q = r * m;
        const typename Lane::I k = Lane::whole(q);
        return split<Lane>(k, q - Lane::value(k));
    }
};

// Any strictly increasing levels. k is the largest with levels[k] <= r, level that level,
// weight = fl32(1 / (levels[k + 1] - levels[k])), or 0 at the top, where r = level. Two
// rounded operations after that of r; they may reach 1, which no threshold expresses.
template <class Lane = SingleLane>
GRADZ_ELEMENT Steps<Lane> table_step(typename Lane::I k, typename Lane::F r, typename Lane::F level,
                                     typename Lane::F weight) {
    return split<Lane>(k, min_positive<Lane>((r - level) * weight, 0x1.fffffep-1f));
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
template <class Lane = SingleLane>
GRADZ_ELEMENT typename Lane::I signed_symbol(typename Lane::F x, typename Lane::I level) {
    using I = typename Lane::I;
    const I symbol = level + level - 1 - (Lane::bits(x) >> 31), zero = {};
    return symbol > zero ? symbol : zero;
}

}  // namespace gradz::kernels
