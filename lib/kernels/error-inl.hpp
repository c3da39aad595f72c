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

// Squares of errors are added in 32 lanes, lane i mod 32: the chains of fewer would take longer
// than the errors. The other sums of doubles have 8. Expectations are added in float32 over
// one block, lane i mod 16, four elements each; then they go to doubles, lane i mod 8. Each lane is
// in index order, and at the end lanes are folded in halves: orders that every target can keep.
constexpr int kErrorBlock = 64, kFloatLanes = 16, kSquareLanes = 32;
constexpr int kParts = kErrorLanes / DoubleLanes::kWidth, kSquareParts = kSquareLanes / DoubleLanes::kWidth;

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
template <bool kBounded, class Rule>
GRADZ_ELEMENT void expect_block(const float* seen, const Rule& rule, const Reduction& by, ExpectedLanes& out) {
    constexpr int kVectors = kFloatLanes / Lanes::kFloats;
    Expected<Lanes> sum[kVectors] = {};
    for (int j = 0; j < kErrorBlock; j += kFloatLanes) {
        GRADZ_UNROLL
        for (int p = 0; p < kVectors; ++p) {
            const int at = j + p * Lanes::kFloats;
            const auto x = Lanes::load<Lanes::F>(seen + at);
            const Reduced<Lanes> reduced = kBounded ? reduce_bounded<Lanes>(x, by) : reduce<Lanes>(x, by);
            add_expected<kBounded, Lanes>(sum[p], rule.template gap<Lanes>(reduced.r, at), reduced.excess);
        }
    }
    GRADZ_UNROLL
    for (int p = 0; p < kVectors; ++p) {
        memcpy(out.variance + p * Lanes::kFloats, &sum[p].variance, sizeof sum[p].variance);
        memcpy(out.fourth + p * Lanes::kFloats, &sum[p].fourth, sizeof sum[p].fourth);
    }
}

// The same of the first n elements alone: without a level at zero even a zero has a variance.
template <bool kBounded, class Rule>
GRADZ_ELEMENT void expect_some(const float* seen, int n, const Rule& rule, const Reduction& by, ExpectedLanes& out) {
    Expected<SingleLane> sum[kFloatLanes] = {};
    for (int j = 0; j < n; ++j) {
        const Reduced<SingleLane> reduced =
            kBounded ? reduce_bounded<SingleLane>(seen[j], by) : reduce<SingleLane>(seen[j], by);
        add_expected<kBounded, SingleLane>(sum[j % kFloatLanes], rule.template gap<SingleLane>(reduced.r, j),
                                           reduced.excess);
    }
    for (int k = 0; k < kFloatLanes; ++k) out.variance[k] = sum[k].variance, out.fourth[k] = sum[k].fourth;
}

// All lanes of one sum, folded in halves.
template <int kLanes>
GRADZ_ELEMENT double folded(double (&lane)[kLanes]) {
    GRADZ_UNROLL
    for (int width = kLanes / 2; width > 0; width /= 2)
        for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
    return lane[0];
}
GRADZ_ELEMENT double folded(const ErrorTerms<DoubleLanes> (&part)[kParts], Lanes::D ErrorTerms<DoubleLanes>::*term) {
    double lane[kErrorLanes];
    GRADZ_UNROLL
    for (int p = 0; p < kParts; ++p) memcpy(lane + p * DoubleLanes::kWidth, &(part[p].*term), sizeof(Lanes::D));
    return folded(lane);
}

// Adds the errors of a block of kErrorBlock elements; what else errors are good for, if kFull.
template <bool kFull, class T>
GRADZ_ELEMENT void add_errors(const T* v, const float* y, Lanes::D (&squares)[kSquareParts],
                              ErrorTerms<DoubleLanes> (&part)[kParts]) {
    for (int j = 0; j < kErrorBlock; j += kSquareLanes) {
        GRADZ_UNROLL
        for (int p = 0; p < kSquareParts; ++p) {
            const int at = j + p * DoubleLanes::kWidth;
            const Lanes::D value = DoubleLanes::load(v + at), decoded = DoubleLanes::load(y + at);
            squares[p] = squares[p] + error2<DoubleLanes>(value, decoded);
            if (kFull) add_error<DoubleLanes>(part[p % kParts], value, decoded);
        }
    }
}

// n elements of a block of kErrorBlock, of which the others are zeros in v.
template <bool kBounded, class Rule, class T>
GRADZ_ELEMENT void add_expectations(const T* v, int n, Rule& rule, const ErrorBucket& in,
                                    ErrorTerms<DoubleLanes> (&part)[kParts]) {
    if (!expects<Rule>) return;
    alignas(64) float buffer[kErrorBlock];
    const float* seen = seen_values(v, buffer);
    prepare(rule, seen, in);
    ExpectedLanes expected;
    if (n == kErrorBlock) expect_block<kBounded>(seen, rule, in.reduction, expected);
    else expect_some<kBounded>(seen, n, rule, in.reduction, expected);
    GRADZ_UNROLL
    for (int k = 0; k < kFloatLanes / DoubleLanes::kWidth; ++k) {
        ErrorTerms<DoubleLanes>& to = part[k % kParts];
        to.variance = to.variance + DoubleLanes::load(expected.variance + k * DoubleLanes::kWidth);
        to.fourth = to.fourth + DoubleLanes::load(expected.fourth + k * DoubleLanes::kWidth);
    }
}

// A bucket in blocks of kErrorBlock: add(v, y, n) each, with zeros behind the last element.
template <class T, class Add>
GRADZ_ELEMENT void each_block(const T* v, const float* y, std::size_t n, Add add) {
    std::size_t i = 0;
    for (; i + kErrorBlock <= n; i += kErrorBlock) add(v + i, y + i, kErrorBlock);
    if (const std::size_t left = n - i; left > 0) {
        T last_v[kErrorBlock] = {};
        float last_y[kErrorBlock] = {};
        memcpy(last_v, v + i, left * sizeof(T));
        memcpy(last_y, y + i, left * sizeof(float));
        add(last_v, last_y, static_cast<int>(left));
    }
}

template <class T>
GRADZ_ELEMENT double sum_error2(const T* v, const float* y, std::size_t n) {
    Lanes::D squares[kSquareParts] = {};
    ErrorTerms<DoubleLanes> none[kParts];
    each_block(v, y, n,
               [&](const T* some_v, const float* some_y, int) { add_errors<false>(some_v, some_y, squares, none); });
    double lane[kSquareLanes];
    memcpy(lane, squares, sizeof lane);
    return folded(lane);
}

// The same of decoded symbols below 16, which no memory has to hold.
static double error2_few(const float* v, const std::uint8_t* symbols, std::size_t n, const float* table, float S) {
    static_assert(kGroup % kErrorBlock == 0);
    Lanes::D squares[kSquareParts] = {};
    ErrorTerms<DoubleLanes> none[kParts];
    alignas(64) float y[kGroup];
    const Lanes::Sixteen few(table);
    const auto add = [&](const float* group) {
        for (int j = 0; j < kGroup; j += kErrorBlock) add_errors<false>(group + j, y + j, squares, none);
    };
    std::size_t i = 0;
    for (; i + kGroup <= n; i += kGroup) {
        decode_few(symbols + i, few, S, y);
        add(v + i);
    }
    if (i < n) {
        alignas(64) float last[kGroup] = {};
        memset(y, 0, sizeof y);
        memcpy(last, v + i, (n - i) * sizeof *v);
        decode_any<std::uint8_t>(symbols + i, n - i, table, S, y);
        add(last);
    }
    double lane[kSquareLanes];
    memcpy(lane, squares, sizeof lane);
    return folded(lane);
}

template <bool kBounded, class Rule, class T>
static void sum_errors(const T* v, const ErrorBucket& in, Rule rule, ErrorTerms<SingleDouble>* out) {
    Lanes::D squares[kSquareParts] = {};
    ErrorTerms<DoubleLanes> part[kParts] = {};
    each_block(v, in.y, in.n, [&](const T* some_v, const float* some_y, int n) {
        add_expectations<kBounded>(some_v, n, rule, in, part);
        add_errors<true>(some_v, some_y, squares, part);
    });
    double lane[kSquareLanes];
    memcpy(lane, squares, sizeof lane);
    using Terms = ErrorTerms<DoubleLanes>;
    *out = {folded(lane),
            folded(part, &Terms::variance),
            folded(part, &Terms::fourth),
            folded(part, &Terms::out2),
            folded(part, &Terms::bias),
            folded(part, &Terms::abs1),
            0};
    for (const Terms& terms : part)
        for (int k = 0; k < DoubleLanes::kWidth; ++k)
            out->worst = out->worst < terms.worst[k] ? terms.worst[k] : out->worst;
}

template <class Rule, class T>
static void sum_errors(const T* v, const ErrorBucket& in, Rule rule, ErrorTerms<SingleDouble>* out) {
    if (in.bounded) sum_errors<true>(v, in, rule, out);
    else sum_errors<false>(v, in, rule, out);
}

template <class T>
static void sum_by_rule(const T* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out) {
    switch (in.rule) {
        case GapRule::doubling: return sum_errors(v, in, DoublingGap{in.first, in.bottom}, out);
        case GapRule::even: return sum_errors(v, in, EvenGap{in.per_step, in.first}, out);
        case GapRule::search: return sum_errors<false>(v, in, SearchedGap{}, out);
        case GapRule::none: break;
    }
    sum_errors<false>(v, in, NoGap{}, out);
}

static double error2_f32(const float* v, const float* y, std::size_t n) { return sum_error2(v, y, n); }
static double error2_f64(const double* v, const float* y, std::size_t n) { return sum_error2(v, y, n); }

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
    sum_by_rule(v, in, out);
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
