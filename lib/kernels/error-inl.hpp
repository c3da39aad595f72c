// Sums of errors and expected errors of a bucket, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// As many doubles as a vector holds. The intrinsics are conversions between float and
// double: GCC 12 makes those half a register at a time (see Lanes::add_square).
struct DoubleLanes {
    using D = Lanes::D;
    static constexpr int kWidth = Lanes::kBytes / sizeof(double);

    GRADZ_MEMBER static D magnitude(D x) { return (D)((Lanes::V)x & std::uint64_t{0x7fffffffffffffffu}); }
#if defined(__AVX512F__)
    GRADZ_MEMBER static D load(const float* x) { return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(x)); }
#elif defined(__AVX2__)
    GRADZ_MEMBER static D load(const float* x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }
#else
    GRADZ_MEMBER static D load(const float* x) { return D{x[0], x[1]}; }
#endif
    GRADZ_MEMBER static D load(const double* x) { return Lanes::load<D>(x); }
};

// Expectations are added in float32 over one block: lane i mod 16, four elements each. Then
// they go where errors are added, to doubles: lane i mod 8, each lane in index order. At the
// end lanes are folded in halves. Orders that every target can keep.
constexpr int kErrorBlock = 64, kFloatLanes = 16, kParts = kErrorLanes / DoubleLanes::kWidth;

// Any ascending table: the neighbours of a whole block are looked up before.
struct SearchedGap {
    float lower[kErrorBlock], upper[kErrorBlock];

    template <class Lane>
    GRADZ_MEMBER Gap<Lane> gap(typename Lane::F r, int j) const {
        using F = typename Lane::F;
        return {r - Lane::template load<F>(lower + j), Lane::template load<F>(upper + j) - r};
    }
};

template <class Rule>
constexpr bool expects = true;
template <>
constexpr bool expects<NoGap> = false;

template <class Rule>
GRADZ_ELEMENT void prepare(Rule&, const float*, const ErrorBucket&) {}
GRADZ_ELEMENT void prepare(SearchedGap& rule, const float* __restrict seen, const ErrorBucket& in) {
    alignas(64) float r[kErrorBlock];
    alignas(64) std::int32_t k[kErrorBlock];
    for (int j = 0; j < kErrorBlock; j += Lanes::kFloats) {
        const Lanes::F inside = reduce<Lanes>(Lanes::load<Lanes::F>(seen + j), in.reduction).r;
        memcpy(r + j, &inside, sizeof inside);
    }
    find<kErrorBlock>(in.table, in.top, in.uppers, r, k, rule.lower, rule.upper);
}

// The values that were quantized: v itself, or its float32 in `buffer`.
GRADZ_ELEMENT const float* seen_values(const float* v, float (&)[kErrorBlock]) { return v; }
GRADZ_ELEMENT const float* seen_values(const double* v, float (&buffer)[kErrorBlock]) {
    for (int j = 0; j < kErrorBlock; ++j) buffer[j] = static_cast<float>(v[j]);
    return buffer;
}

// What is expected of one block, by lane.
struct ExpectedLanes {
    alignas(64) float variance[kFloatLanes], fourth[kFloatLanes];
};

// seen: the float32 values that were quantized, [kErrorBlock].
template <bool kFull, bool kBounded, class Rule>
GRADZ_ELEMENT void expect_block(const float* seen, const Rule& rule, const Reduction& by, ExpectedLanes& out) {
    constexpr int kVectors = kFloatLanes / Lanes::kFloats;
    Expected<Lanes> sum[kVectors] = {};
    for (int j = 0; j < kErrorBlock; j += kFloatLanes) {
        GRADZ_UNROLL
        for (int p = 0; p < kVectors; ++p) {
            const int at = j + p * Lanes::kFloats;
            const auto x = Lanes::load<Lanes::F>(seen + at);
            const Reduced<Lanes> reduced = kBounded ? reduce_bounded<Lanes>(x, by) : reduce<Lanes>(x, by);
            add_expected<kFull, kBounded, Lanes>(sum[p], rule.template gap<Lanes>(reduced.r, at), reduced.excess);
        }
    }
    GRADZ_UNROLL
    for (int p = 0; p < kVectors; ++p) {
        memcpy(out.variance + p * Lanes::kFloats, &sum[p].variance, sizeof sum[p].variance);
        if (kFull) memcpy(out.fourth + p * Lanes::kFloats, &sum[p].fourth, sizeof sum[p].fourth);
    }
}

// The same of the first n elements alone: without a level at zero even a zero has a variance.
template <bool kFull, bool kBounded, class Rule>
GRADZ_ELEMENT void expect_some(const float* seen, int n, const Rule& rule, const Reduction& by, ExpectedLanes& out) {
    Expected<SingleLane> sum[kFloatLanes] = {};
    for (int j = 0; j < n; ++j) {
        const Reduced<SingleLane> reduced =
            kBounded ? reduce_bounded<SingleLane>(seen[j], by) : reduce<SingleLane>(seen[j], by);
        add_expected<kFull, kBounded, SingleLane>(sum[j % kFloatLanes], rule.template gap<SingleLane>(reduced.r, j),
                                                  reduced.excess);
    }
    for (int k = 0; k < kFloatLanes; ++k) out.variance[k] = sum[k].variance, out.fourth[k] = sum[k].fourth;
}

// n elements of a block of kErrorBlock, of which the others are zeros in v and y.
template <bool kFull, bool kBounded, class Rule, class T>
GRADZ_ELEMENT void add_block(const T* v, const float* y, int n, Rule& rule, const ErrorBucket& in,
                             ErrorTerms<DoubleLanes> (&part)[kParts]) {
    if (expects<Rule>) {
        alignas(64) float buffer[kErrorBlock];
        const float* seen = seen_values(v, buffer);
        prepare(rule, seen, in);
        ExpectedLanes expected;
        if (n == kErrorBlock) expect_block<kFull, kBounded>(seen, rule, in.reduction, expected);
        else expect_some<kFull, kBounded>(seen, n, rule, in.reduction, expected);
        GRADZ_UNROLL
        for (int k = 0; k < kFloatLanes / DoubleLanes::kWidth; ++k) {
            ErrorTerms<DoubleLanes>& to = part[k % kParts];
            to.variance = to.variance + DoubleLanes::load(expected.variance + k * DoubleLanes::kWidth);
            if (kFull) to.fourth = to.fourth + DoubleLanes::load(expected.fourth + k * DoubleLanes::kWidth);
        }
    }
    for (int j = 0; j < kErrorBlock; j += kErrorLanes) {
        GRADZ_UNROLL
        for (int p = 0; p < kParts; ++p) {
            const int at = j + p * DoubleLanes::kWidth;
            add_error<kFull, DoubleLanes>(part[p], DoubleLanes::load(v + at), DoubleLanes::load(y + at));
        }
    }
}

// Lanes of one term, folded in halves.
GRADZ_ELEMENT double folded(const ErrorTerms<DoubleLanes> (&part)[kParts], Lanes::D ErrorTerms<DoubleLanes>::*term) {
    double lane[kErrorLanes];
    GRADZ_UNROLL
    for (int p = 0; p < kParts; ++p) memcpy(lane + p * DoubleLanes::kWidth, &(part[p].*term), sizeof(Lanes::D));
    GRADZ_UNROLL
    for (int width = kErrorLanes / 2; width > 0; width /= 2)
        for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
    return lane[0];
}

template <bool kFull>
GRADZ_ELEMENT ErrorTerms<SingleDouble> all_folded(const ErrorTerms<DoubleLanes> (&part)[kParts]) {
    using T = ErrorTerms<DoubleLanes>;
    ErrorTerms<SingleDouble> out = {folded(part, &T::error2), folded(part, &T::variance), 0, 0, 0, 0, 0};
    if (!kFull) return out;
    out.fourth = folded(part, &T::fourth);
    out.out2 = folded(part, &T::out2);
    out.bias = folded(part, &T::bias);
    out.abs1 = folded(part, &T::abs1);
    for (const T& t : part)
        for (int k = 0; k < DoubleLanes::kWidth; ++k) out.worst = out.worst < t.worst[k] ? t.worst[k] : out.worst;
    return out;
}

template <bool kFull, bool kBounded, class Rule, class T>
static void sum_errors(const T* __restrict v, const ErrorBucket& in, Rule rule, ErrorTerms<SingleDouble>* out) {
    const float* __restrict y = in.y;
    ErrorTerms<DoubleLanes> part[kParts] = {};
    std::size_t i = 0;
    for (; i + kErrorBlock <= in.n; i += kErrorBlock)
        add_block<kFull, kBounded>(v + i, y + i, kErrorBlock, rule, in, part);
    if (const std::size_t left = in.n - i; left > 0) {
        T last_v[kErrorBlock] = {};
        float last_y[kErrorBlock] = {};
        memcpy(last_v, v + i, left * sizeof(T));
        memcpy(last_y, y + i, left * sizeof(float));
        add_block<kFull, kBounded>(last_v, last_y, static_cast<int>(left), rule, in, part);
    }
    *out = all_folded<kFull>(part);
}

template <bool kFull, class Rule, class T>
static void sum_errors(const T* v, const ErrorBucket& in, Rule rule, ErrorTerms<SingleDouble>* out) {
    if (in.bounded) sum_errors<kFull, true>(v, in, rule, out);
    else sum_errors<kFull, false>(v, in, rule, out);
}

template <bool kFull, class T>
static void sum_by_rule(const T* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out) {
    switch (in.rule) {
        case GapRule::doubling: return sum_errors<kFull>(v, in, DoublingGap{in.first, in.bottom}, out);
        case GapRule::even: return sum_errors<kFull>(v, in, EvenGap{in.per_step, in.first}, out);
        case GapRule::search: return sum_errors<kFull, false>(v, in, SearchedGap{}, out);
        case GapRule::none: break;
    }
    sum_errors<kFull, false>(v, in, NoGap{}, out);
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
