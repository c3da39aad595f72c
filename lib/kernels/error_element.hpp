// The error of one decoded element, and what theory expects of it: the only definition of
// this arithmetic. All of it is in double and none of it may be contracted to FMA, so that
// the figures have the same bits on every target.
//
// Written once for a Lane of one double (here) and of several (error-inl.hpp): Lane::D is
// double or a vector of them, and `c ? a : b` selects lane by lane.
#pragma once

#include "kernels/element.hpp"

namespace gradz::kernels {

struct SingleDouble {
    using D = double;
    using Bits = std::uint64_t;

    GRADZ_MEMBER static D mask(D x, Bits bits) {
        Bits b;
        memcpy(&b, &x, sizeof b);
        b &= bits;
        memcpy(&x, &b, sizeof x);
        return x;
    }
    GRADZ_MEMBER static D load(const float* x) { return static_cast<double>(*x); }
    GRADZ_MEMBER static D load(const double* x) { return *x; }
    // As the quantizer saw it: a float64 tensor is quantized from its float32 values.
    GRADZ_MEMBER static D seen(const float* x) { return static_cast<double>(*x); }
    GRADZ_MEMBER static D seen(const double* x) { return static_cast<double>(static_cast<float>(*x)); }
};

constexpr std::uint64_t kMagnitude = 0x7fffffffffffffffu, kExponent = 0x7ff0000000000000u;

// Where r lies between its neighbours: below = r - l and above = l+ - r, neither negative.
template <class Lane>
struct Gap {
    typename Lane::D below, above;
};

// Magnitudes 2^(k - m), k = 1..m: r without its mantissa is the lower neighbour, twice that
// the upper. At r = 1 that gives (0, 1): no variance, as it should be.
struct DoublingGap {
    double first;   // l_1 = 2^(1 - m)
    double bottom;  // the neighbour below l_1: 0, or -l_1 for tables without zero

    template <class Lane>
    GRADZ_MEMBER Gap<Lane> gap(typename Lane::D r, std::size_t) const {
        using D = typename Lane::D;
        const D power = Lane::mask(r, kExponent), one = D{} + first;
        const D low = r < one ? D{} + bottom : power;
        const D high = r < one ? one : power + power;
        return {r - low, high - r};
    }
};

// Magnitudes k step, k = 0..m. Which neighbour is the nearer one does not matter to what is
// made of a gap, so that rounding r to the nearest multiple does instead of a floor. The
// sum below is rounded to an integer by the hardware's own nearest-even.
struct EvenGap {
    double per_step, step;

    template <class Lane>
    GRADZ_MEMBER Gap<Lane> gap(typename Lane::D r, std::size_t) const {
        const typename Lane::D q = r * per_step;
        const typename Lane::D nearest = (q + 0x1p52) - 0x1p52;
        const typename Lane::D below = Lane::mask(q - nearest, kMagnitude) * step;
        return {below, step - below};
    }
};

// Nearest rounding and everything that is no rounding onto levels: nothing is expected.
struct NoGap {
    template <class Lane>
    GRADZ_MEMBER Gap<Lane> gap(typename Lane::D, std::size_t) const {
        return {typename Lane::D{}, typename Lane::D{}};
    }
};

// How |v| becomes r. Elements beyond the outermost level are clipped to it.
struct Reduction {
    double inverse;      // 1 / S
    double offset;       // v - offset is what was scaled
    double low, top;     // the outermost levels; low is 0 or below for magnitudes
    std::uint64_t mask;  // kMagnitude where the sign is kept apart, all ones for signed tables
};

template <class Lane>
struct Reduced {
    typename Lane::D r;       // inside [low, top]
    typename Lane::D excess;  // what clipping took away, in units of S
};

template <class Lane>
GRADZ_ELEMENT Reduced<Lane> reduce(typename Lane::D seen, const Reduction& by) {
    using D = typename Lane::D;
    const D r = Lane::mask((seen - by.offset) * by.inverse, by.mask);
    const D low = D{} + by.low, top = D{} + by.top;
    const D under_top = r > top ? top : r;
    const D inside = under_top < low ? low : under_top;
    return {inside, r - inside};
}

// Sums over elements, v the original and y the decoded value. Variance and fourth are in
// units of S^2 and S^4.
template <class Lane>
struct ErrorTerms {
    typename Lane::D norm2;     // v^2
    typename Lane::D error2;    // (y - v)^2
    typename Lane::D variance;  // E (y - v)^2 = below above + excess^2
    typename Lane::D fourth;    // Var (y - v)^2 = below above (above - below)^2
    typename Lane::D out2;      // y^2
    typename Lane::D dot;       // v y
    typename Lane::D bias;      // y - v
    typename Lane::D abs1;      // |v|
    typename Lane::D worst;     // max |y - v|, not a sum
};

template <class Lane>
GRADZ_ELEMENT void add_error(ErrorTerms<Lane>& sum, typename Lane::D v, typename Lane::D y) {
    const typename Lane::D e = y - v;
    sum.norm2 = sum.norm2 + v * v;
    sum.error2 = sum.error2 + e * e;
}

template <class Lane>
GRADZ_ELEMENT void add_variance(ErrorTerms<Lane>& sum, Gap<Lane> gap, typename Lane::D excess) {
    sum.variance = sum.variance + (gap.below * gap.above + excess * excess);
}

// The terms that only the full statistics have.
template <class Lane>
GRADZ_ELEMENT void add_details(ErrorTerms<Lane>& sum, typename Lane::D v, typename Lane::D y, Gap<Lane> gap) {
    const typename Lane::D e = y - v, lean = gap.above - gap.below, size = Lane::mask(e, kMagnitude);
    sum.fourth = sum.fourth + gap.below * gap.above * (lean * lean);
    sum.out2 = sum.out2 + y * y;
    sum.dot = sum.dot + v * y;
    sum.bias = sum.bias + e;
    sum.abs1 = sum.abs1 + Lane::mask(v, kMagnitude);
    sum.worst = sum.worst < size ? size : sum.worst;
}

}  // namespace gradz::kernels
