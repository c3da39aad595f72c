// Sums of errors and expected errors of a bucket, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// As many doubles as a vector holds. The intrinsics are conversions between float and
// double: GCC 12 makes those half a register at a time (see Lanes::add_square).
struct DoubleLanes {
    using D = Lanes::D;
    using Bits = std::uint64_t;
    static constexpr int kWidth = Lanes::kBytes / sizeof(double);

    GRADZ_MEMBER static D mask(D x, Bits bits) { return (D)((Lanes::V)x & bits); }
#if defined(__AVX512F__)
    GRADZ_MEMBER static D load(const float* x) { return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(x)); }
    GRADZ_MEMBER static D seen(const double* x) {
        return _mm512_maskz_cvtps_pd(0xff, _mm512_maskz_cvtpd_ps(0xff, _mm512_loadu_pd(x)));
    }
#elif defined(__AVX2__)
    GRADZ_MEMBER static D load(const float* x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }
    GRADZ_MEMBER static D seen(const double* x) { return _mm256_cvtps_pd(_mm256_cvtpd_ps(_mm256_loadu_pd(x))); }
#else
    GRADZ_MEMBER static D load(const float* x) { return D{x[0], x[1]}; }
    GRADZ_MEMBER static D seen(const double* x) { return D{SingleDouble::seen(x), SingleDouble::seen(x + 1)}; }
#endif
    GRADZ_MEMBER static D load(const double* x) {
        D d;
        memcpy(&d, x, sizeof d);
        return d;
    }
    GRADZ_MEMBER static D seen(const float* x) { return load(x); }
};

constexpr int kErrorBlock = 128;  // elements of one search

// Any ascending table, by binary search: steps in the outer loop and elements in the inner
// one, so that each step is a gather and a compare for many elements at once.
struct SearchedGap {
    double lower[kErrorBlock], upper[kErrorBlock];

    template <class T>
    void prepare(const T* __restrict v, std::size_t n, const Reduction& by, const LevelSearch& search) {
        double r[kErrorBlock];
        std::int64_t place[kErrorBlock];
        const std::size_t count = n;
        for (std::size_t j = 0; j < count; ++j) {
            r[j] = reduce<SingleDouble>(SingleDouble::seen(v + j), by).r;
            place[j] = 0;
        }
        for (std::int64_t step = search.reach; step > 0; step /= 2)
            for (std::size_t j = 0; j < count; ++j) place[j] += search.keys[place[j] + step] <= r[j] ? step : 0;
        for (std::size_t j = 0; j < count; ++j) {
            lower[j] = search.levels[place[j]];
            upper[j] = search.levels[place[j] + 1];
        }
    }
    template <class Lane>
    GRADZ_MEMBER Gap<Lane> gap(typename Lane::D r, std::size_t j) const {
        return {r - Lane::load(lower + j), Lane::load(upper + j) - r};
    }
};

template <class Rule, class T>
GRADZ_ELEMENT void prepare(Rule&, const T*, std::size_t, const Reduction&, const LevelSearch&) {}
template <class T>
GRADZ_ELEMENT void prepare(SearchedGap& rule, const T* v, std::size_t n, const Reduction& by,
                           const LevelSearch& search) {
    rule.prepare(v, n, by, search);
}

// One vector of elements, number j of its block.
template <bool kFull, class Lane, class Rule, class T>
GRADZ_ELEMENT void add_terms(ErrorTerms<Lane>& sum, const T* v, const float* y, std::size_t j, const Rule& rule,
                             const Reduction& by) {
    const typename Lane::D original = Lane::load(v + j), decoded = Lane::load(y + j);
    const Reduced<Lane> reduced = reduce<Lane>(Lane::seen(v + j), by);
    const Gap<Lane> gap = rule.template gap<Lane>(reduced.r, j);
    add_error<Lane>(sum, original, decoded);
    add_variance<Lane>(sum, gap, reduced.excess);
    if (kFull) add_details<Lane>(sum, original, decoded, gap);
}

GRADZ_ELEMENT ErrorTerms<SingleDouble> joined(const ErrorTerms<SingleDouble>& a, const ErrorTerms<SingleDouble>& b) {
    return {a.norm2 + b.norm2,   a.error2 + b.error2, a.variance + b.variance,
            a.fourth + b.fourth, a.out2 + b.out2,     a.dot + b.dot,
            a.bias + b.bias,     a.abs1 + b.abs1,     a.worst < b.worst ? b.worst : a.worst};
}

// Element i goes to lane i mod 8, each lane in index order, lanes folded in halves: an
// order that every target can keep.
template <bool kFull, class Rule, class T>
static void sum_errors(const T* __restrict v, const ErrorBucket& in, Rule rule, ErrorTerms<SingleDouble>* out) {
    constexpr int kParts = kErrorLanes / DoubleLanes::kWidth;
    constexpr std::size_t kBlock = kErrorBlock;
    const float* __restrict y = in.y;
    const Reduction by = in.reduction;
    ErrorTerms<DoubleLanes> part[kParts] = {};
    std::size_t i = 0;
    for (; i + kErrorLanes <= in.n; i += kErrorLanes) {
        const std::size_t j = i % kBlock, start = i - j;
        if (j == 0) prepare(rule, v + i, in.n - i < kBlock ? in.n - i : kBlock, by, in.search);
        GRADZ_UNROLL
        for (int p = 0; p < kParts; ++p)
            add_terms<kFull, DoubleLanes>(part[p], v + start, y + start,
                                          j + static_cast<std::size_t>(p * DoubleLanes::kWidth), rule, by);
    }
    ErrorTerms<SingleDouble> lane[kErrorLanes];
    GRADZ_UNROLL
    for (int p = 0; p < kParts; ++p) {
        const ErrorTerms<DoubleLanes> t = part[p];  // a copy: the address of `part` would pin it to memory
        for (int k = 0; k < DoubleLanes::kWidth; ++k)
            lane[p * DoubleLanes::kWidth + k] = {t.norm2[k], t.error2[k], t.variance[k], t.fourth[k], t.out2[k],
                                                 t.dot[k],   t.bias[k],   t.abs1[k],     t.worst[k]};
    }
    if (i < in.n && i % kBlock == 0) prepare(rule, v + i, in.n - i, by, in.search);
    for (int k = 0; i < in.n; ++i, ++k)
        add_terms<kFull, SingleDouble>(lane[k], v + i - i % kBlock, y + i - i % kBlock, i % kBlock, rule, by);
    for (int width = kErrorLanes / 2; width > 0; width /= 2)
        for (int k = 0; k < width; ++k) lane[k] = joined(lane[k], lane[k + width]);
    *out = lane[0];
}

template <bool kFull, class T>
static void sum_by_rule(const T* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out) {
    switch (in.rule) {
        case GapRule::doubling: return sum_errors<kFull>(v, in, DoublingGap{in.first, in.bottom}, out);
        case GapRule::even: return sum_errors<kFull>(v, in, EvenGap{in.per_step, in.first}, out);
        case GapRule::search: return sum_errors<kFull>(v, in, SearchedGap{}, out);
        case GapRule::none: break;
    }
    sum_errors<kFull>(v, in, NoGap{}, out);
}

static void errors_f32(const float* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out) {
    sum_by_rule<false>(v, in, out);
}
static void errors_f64(const double* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out) {
    sum_by_rule<false>(v, in, out);
}
// Counts in 32 bits, as wide as the floats, so that vectors stay whole.
static void count_span(const float* __restrict v, const float* __restrict y, std::size_t n, ErrorCounts* counts) {
    std::int32_t zeros_in = 0, zeros_out = 0, agreements = 0;
#pragma omp simd reduction(+ : zeros_in, zeros_out, agreements)
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t a = to_bits(v[i]), b = to_bits(y[i]);
        const std::int32_t no_a = (a & 0x7fffffff) == 0 ? 1 : 0, no_b = (b & 0x7fffffff) == 0 ? 1 : 0;
        zeros_in += no_a;
        zeros_out += no_b;
        agreements += (a ^ b) >= 0 ? 1 & ~(no_a | no_b) : 0;
    }
    counts->zeros_in += zeros_in;
    counts->zeros_out += zeros_out;
    counts->agreements += agreements;
}

static void count_span(const double* __restrict v, const float* __restrict y, std::size_t n, ErrorCounts* counts) {
    std::int64_t zeros_in = 0, zeros_out = 0, agreements = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t sign_v = (v[i] > 0) - (v[i] < 0), sign_y = (y[i] > 0) - (y[i] < 0);
        zeros_in += sign_v == 0;
        zeros_out += sign_y == 0;
        agreements += sign_v * sign_y == 1;
    }
    counts->zeros_in += zeros_in;
    counts->zeros_out += zeros_out;
    counts->agreements += agreements;
}

template <class T>
static void sum_details(const T* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out, ErrorCounts* counts) {
    sum_by_rule<true>(v, in, out);
    *counts = {0, 0, 0};
    for (std::size_t i = 0; i < in.n; i += kSpan)
        count_span(v + i, in.y + i, in.n - i < kSpan ? in.n - i : kSpan, counts);
}

static void details_f32(const float* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out, ErrorCounts* counts) {
    sum_details(v, in, out, counts);
}
static void details_f64(const double* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out, ErrorCounts* counts) {
    sum_details(v, in, out, counts);
}

}  // namespace gradz::kernels::GRADZ_TARGET
