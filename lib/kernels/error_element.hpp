// The error of one decoded element, and what theory expects of it: the only definition of
// this arithmetic. Errors are in double. Expectations are of the float32 r that the quantizer
// rounded, whose distances to its neighbours are exact or rounded once; a few of their
// products are added in float32, blocks of them in double. None of it may be contracted to
// FMA, so that the figures have the same bits on every target.
//
// Written over a Lane (element.hpp), or where D stands over several doubles (error-inl.hpp).
#pragma once

#include "kernels/quantize_element.hpp"

namespace gradz::kernels {

struct SingleDouble {  // of sums that are done
    using D = double;
};

// Where r lies between its neighbours: below = r - l and above = l+ - r, neither negative.
template <class Lane>
struct Gap {
    typename Lane::F below, above;
};

// How v becomes r. Elements beyond the outermost level are clipped to it.
struct Reduction {
    float S, offset;    // v - offset is what was scaled
    float low, top;     // the outermost levels; low is 0 or below for magnitudes
    std::int32_t mask;  // kSignless where the sign is kept apart, -1 for signed tables
};
constexpr std::int32_t kSignless = 0x7fffffff;

template <class Lane>
struct Reduced {
    typename Lane::F r;       // inside [low, top]
    typename Lane::F excess;  // what clipping took away, in units of S
};

template <class Lane>
GRADZ_ELEMENT Reduced<Lane> reduce(typename Lane::F seen, const Reduction& by) {
    using F = typename Lane::F;
    const F r = Lane::floats(Lane::bits(seen - by.offset) & by.mask) / by.S;
    const F low = F{} + by.low, top = F{} + by.top;
    const F under_top = r > top ? top : r;
    const F inside = under_top < low ? low : under_top;
    return {inside, r - inside};
}

// The same where S is a norm that no element exceeds but by its rounding, and magnitudes are
// rounded: as the quantizer does.
template <class Lane>
GRADZ_ELEMENT Reduced<Lane> reduce_bounded(typename Lane::F seen, const Reduction& by) {
    return {scaled<Lane>(seen - by.offset, by.S, by.top), typename Lane::F{}};
}

// Rules say where the neighbours of an element are, and how it is reduced. First magnitudes
// 2^(k - m), k = 1..m: r without its mantissa is the lower neighbour, twice that the upper. At
// r = 1 that gives (0, 1): no variance, as it should be.
struct DoublingGap {
    float first;   // l_1 = 2^(1 - m)
    float bottom;  // the neighbour below l_1: 0, or -l_1 for tables without zero

    template <class Lane>
    GRADZ_MEMBER Gap<Lane> gap(typename Lane::F r, int) const {
        using F = typename Lane::F;
        const auto is_small = Lane::bits(r) < typename Lane::I{} + to_bits(first);
        const F power = Lane::floats(Lane::bits(r) & 0x7f800000), one = F{} + first;
        const F low = is_small ? F{} + bottom : power, high = is_small ? one : power + power;
        return {r - low, high - r};
    }
};

// Magnitudes k step, k = 0..m. Which neighbour is the nearer one does not matter to what is
// made of a gap, so that the nearest multiple does.
struct EvenGap {
    float per_step, step;

    template <class Lane>
    GRADZ_MEMBER Gap<Lane> gap(typename Lane::F r, int) const {
        using F = typename Lane::F;
        const F q = r * per_step, nearest = Lane::value(Lane::whole(q + 0.5f));
        const F below = Lane::floats(Lane::bits(q - nearest) & kSignless) * step;
        return {below, step - below};
    }
};

// Nearest rounding and everything that is no rounding onto levels: nothing is expected.
struct NoGap {
    template <class Lane>
    GRADZ_MEMBER Gap<Lane> gap(typename Lane::F, int) const {
        return {typename Lane::F{}, typename Lane::F{}};
    }
};

// What is expected of some elements, in units of S^2 and S^4.
template <class Lane>
struct Expected {
    typename Lane::F variance;  // E (y - v)^2 = below above + excess^2
    typename Lane::F fourth;    // Var (y - v)^2 = below above (above - below)^2
};

template <bool kBounded, class Lane>
GRADZ_ELEMENT void add_expected(Expected<Lane>& sum, Gap<Lane> gap, typename Lane::F excess) {
    const typename Lane::F variance = gap.below * gap.above, lean = gap.above - gap.below;
    sum.variance = sum.variance + (kBounded ? variance : variance + excess * excess);
    sum.fourth = sum.fourth + variance * (lean * lean);
}

// Sums over elements, v the original and y the decoded value.
template <class Lane>
struct ErrorTerms {
    typename Lane::D error2;  // (y - v)^2
    typename Lane::D variance, fourth;
    typename Lane::D out2;   // y^2
    typename Lane::D bias;   // y - v
    typename Lane::D abs1;   // |v|
    typename Lane::D worst;  // max |y - v|, not a sum
};

template <class Lane>
GRADZ_ELEMENT typename Lane::D error2(typename Lane::D v, typename Lane::D y) {
    const typename Lane::D e = y - v;
    return e * e;
}

// All terms of the error itself but its square.
template <class Lane>
GRADZ_ELEMENT void add_error(ErrorTerms<Lane>& sum, typename Lane::D v, typename Lane::D y) {
    const typename Lane::D e = y - v, size = Lane::magnitude(e);
    sum.out2 = sum.out2 + y * y;
    sum.bias = sum.bias + e;
    sum.abs1 = sum.abs1 + Lane::magnitude(v);
    sum.worst = sum.worst < size ? size : sum.worst;
}

}  // namespace gradz::kernels
