// lib/stats/measure.cpp and lib/kernels/error-inl.hpp: sums against brute force, the same
// on every target, in a fixed order.
#include "stats/measure.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "core/tensor.hpp"
#include "kernels/dispatch.hpp"
#include "stats/figures.hpp"
#include "stats/reference.hpp"
#include "support/gen.hpp"

using namespace gradz;

namespace {

const std::size_t kLengths[] = {1, 2, 7, 8, 9, 15, 63, 127, 128, 129, 136, 511, 512, 1000};

MeasureScheme scheme_of(const test::TableCase& t, const kernels::Kernels* k = kernels::runnable().front()) {
    return {k, LevelTable(t.levels, t.kind), 256, true};
}

struct Draw {
    std::vector<float> y;
    std::vector<std::uint8_t> symbols;  // index in signed_levels
};

template <class T>
Draw round_randomly(const std::vector<T>& v, float S, float offset, const std::vector<double>& levels, unsigned seed) {
    std::mt19937 gen(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    Draw draw;
    for (const T x : v) {
        const auto n = test::neighbours(levels, (static_cast<long double>(static_cast<float>(x)) - offset) / S);
        const double level = uniform(gen) < static_cast<double>(n.up) ? n.upper : n.lower;
        draw.y.push_back(S * static_cast<float>(level) + offset);
        const auto place = std::lower_bound(levels.begin(), levels.end(), level) - levels.begin();
        draw.symbols.push_back(static_cast<std::uint8_t>(place));
    }
    return draw;
}

MeasureInput input_of(std::span<const float> v, std::span<const float> y, float S, float offset = 0) {
    return {.v32 = v, .v64 = {}, .y = y, .scale = S, .offset = offset};
}
MeasureInput input_of(std::span<const double> v, std::span<const float> y, float S, float offset = 0) {
    return {.v32 = {}, .v64 = v, .y = y, .scale = S, .offset = offset};
}

template <class T>
Sums measured(const MeasureScheme& scheme, const std::vector<T>& v, const std::vector<float>& y, float S,
              float offset = 0, StatsLevel level = StatsLevel::full) {
    Sums sums;
    measure_coded(scheme, input_of(std::span<const T>(v), y, S, offset), level, sums);
    return sums;
}

// The parts that StatsLevel::error has as well.
bool same_errors(const Sums& a, const Sums& b) {
    return a.elements == b.elements && a.measured == b.measured && a.norm2 == b.norm2 && a.error2 == b.error2 &&
           a.variance_bound == b.variance_bound;
}

template <class T>
void check_targets(const test::TableCase& t, const std::vector<T>& v, const std::vector<float>& y, float S, float o) {
    const Sums want = measured(scheme_of(t), v, y, S, o);
    for (const auto* k : kernels::runnable()) {
        CAPTURE(k->target);
        CHECK(measured(scheme_of(t, k), v, y, S, o) == want);
        CHECK(same_errors(measured(scheme_of(t, k), v, y, S, o, StatsLevel::error), want));
    }
}

}  // namespace

TEST_CASE("expectation and its variance are those of the two outcomes of every element") {
    for (const auto& t : test::all_tables())
        for (float unit : {1.0f, 1e-30f, 1e30f})
            for (float reach : {1.0f, 0.3f, 20.0f})  // 0.3: most elements are clipped
                for (float o : {0.0f, 0.25f * unit}) {
                    CAPTURE(t.name);
                    CAPTURE(unit);
                    CAPTURE(reach);
                    const auto v = test::laplace(300, unit, 4);
                    const float S = reach * unit;
                    const auto levels = test::signed_levels(t);
                    const auto want = test::expected_error(v, S, o, levels);
                    const Sums got = measured(scheme_of(t), v, round_randomly(v, S, o, levels, 1).y, S, o);
                    CHECK(got.norm2 == doctest::Approx(want.norm2).epsilon(1e-13));
                    // r is a float32, as the quantizer has it; and even levels are k / m, not its float32.
                    const double rounding = LevelTable(t.levels, t.kind).spacing() == Spacing::even ? 0x1p-20 : 0x1p-23;
                    CHECK(std::abs(got.variance - want.error2) <= rounding * (want.error2 + want.norm2));
                    CHECK(std::sqrt(got.fourth) == doctest::Approx(std::sqrt(want.sd2)).epsilon(1e-5));
                }
}

TEST_CASE("elements on a level are certain, at any magnitude of S") {
    for (const auto& t : test::all_tables())
        for (float S : {1.0f, 0x1p-100f, 0x1p100f}) {
            CAPTURE(t.name);
            std::vector<float> v;
            for (const double l : test::signed_levels(t)) v.push_back(S * static_cast<float>(l));
            const Sums got = measured(scheme_of(t), v, v, S);
            CHECK(got.variance <= 0x1p-22 * got.norm2);
            CHECK(got.variance >= 0);
            CHECK(got.error2 == 0);
        }
}

TEST_CASE("nmse scatters around its expectation by its standard deviation") {
    for (const auto& t : test::all_tables()) {
        CAPTURE(t.name);
        const auto v = test::laplace(64, 1.0f, 8);
        const auto levels = test::signed_levels(t);
        const float S = (t.unit ? test::l2(v) : test::linf(v)) / 3;
        const int draws = 1500;
        double sum = 0, sum2 = 0;
        Figures f;
        for (int i = 0; i < draws; ++i) {
            const Draw draw = round_randomly(v, S, 0.0f, levels, static_cast<unsigned>(i));
            f = make_figures(measured(scheme_of(t), v, draw.y, S), {});
            sum += *f.nmse, sum2 += (*f.nmse - *f.variance_exact) * (*f.nmse - *f.variance_exact);
        }
        CHECK(std::abs(sum / draws - *f.variance_exact) <= 5 * *f.variance_sd / std::sqrt(draws) + 1e-6);
        CHECK(std::sqrt(sum2 / draws) == doctest::Approx(*f.variance_sd).epsilon(0.15));
    }
}

TEST_CASE("every target adds up the same bits") {
    for (const auto& t : test::all_tables())
        for (std::size_t n : kLengths)
            for (float o : {0.0f, 0.125f}) {
                CAPTURE(t.name);
                CAPTURE(n);
                auto v = test::laplace(n, 0.7f, 6);
                for (std::size_t i = 3; i < n; i += 5) v[i] = i % 2 ? 0.0f : -0.0f;
                const std::vector<double> wide(v.begin(), v.end());
                const auto y = round_randomly(v, 2.5f, o, test::signed_levels(t), 2).y;
                check_targets(t, v, y, 2.5f, o);
                check_targets(t, wide, y, 2.5f, o);
                CHECK(measured(scheme_of(t), v, y, 2.5f, o) == measured(scheme_of(t), wide, y, 2.5f, o));
            }
}

TEST_CASE("golden sums: eight lanes, folded in halves; then buckets; then chunks") {
    // 2^54 swallows a one, but not three.
    std::vector<float> v(21);
    v[0] = 0x1p27f, v[8] = 1;    // lane 0: 2^54
    v[4] = v[12] = v[20] = 1;    // lane 4: 3, and 2^54 + 3 rounds to 2^54 + 4
    v[2] = v[6] = v[10] = 0.5f;  // lane 2 with 6: 0.75
    const std::vector<float> zeros(v.size()), large{0x1p27f}, one{1.0f};
    const test::TableCase t{"", test::exponential(3), SymbolKind::magnitudes, true};
    for (const auto* k : kernels::runnable()) {
        CAPTURE(k->target);
        const MeasureScheme scheme = scheme_of(t, k);
        const Sums got = measured(scheme, v, zeros, 0x1p27f);
        CHECK(got.norm2 == 0x1p54 + 4);
        CHECK(got.error2 == 0x1p54 + 4);
        CHECK(got.bias == -0x1p27 - 1 - 3 - 1.5);
        CHECK(got.max_abs_error == 0x1p27);
        Sums in_turn, later;
        for (const auto& bucket : {large, one, one, one})
            measure_coded(scheme, input_of(std::span(bucket), std::span(zeros).first(1), 1.0f), StatsLevel::full,
                          in_turn);
        CHECK(in_turn.norm2 == 0x1p54);
        for (int i = 0; i < 3; ++i)
            measure_coded(scheme, input_of(std::span(one), std::span(zeros).first(1), 1.0f), StatsLevel::full, later);
        Sums chunks = measured(scheme, large, {0.0f}, 1.0f);
        chunks.add(later);
        CHECK(chunks.norm2 == 0x1p54 + 4);
    }
    Sums exact;
    measure_exact(std::span<const float>(v), true, StatsLevel::full, exact);
    CHECK(exact.norm2 == 0x1p54 + 4);
}

TEST_CASE("a tensor in the chunks of the pipeline: whoever measures them, in whatever order") {
    const test::TableCase t{"", test::exponential(7), SymbolKind::magnitudes, true};
    for (std::uint64_t bucket : {512u, 1000u, 1u << 18, 1u << 20}) {
        CAPTURE(bucket);
        const auto v = test::laplace(600'001, 1e-3f, 12);
        std::vector<float> y = v;
        for (std::size_t i = 0; i < y.size(); i += 3) y[i] *= 1.25f;
        const Bounds bounds(t.levels, t.kind, NormKind::linf);
        const auto measure_chunk = [&](const kernels::Kernels* k, std::uint64_t first) {
            Sums sums;
            const std::uint64_t end = std::min<std::uint64_t>(v.size(), first + chunk_elements(bucket));
            for (std::uint64_t i = first; i < end; i += bucket) {
                const std::uint64_t n = std::min(bucket, end - i);
                const std::uint64_t whole = bucket > kChunkTarget ? std::min<std::uint64_t>(bucket, v.size()) : n;
                MeasureInput in = input_of(std::span(v).subspan(i, n), std::span(y).subspan(i, n), 0.02f);
                in.bound = bounds.of(whole);
                in.bucket = whole;
                measure_coded(scheme_of(t, k), in, StatsLevel::full, sums);
            }
            return sums;
        };
        std::vector<Sums> totals;
        for (const auto* k : kernels::runnable()) {
            std::vector<Sums> chunks;
            for (std::uint64_t i = 0; i < v.size(); i += chunk_elements(bucket)) chunks.push_back({});
            for (std::size_t c = chunks.size(); c-- > 0;) chunks[c] = measure_chunk(k, c * chunk_elements(bucket));
            totals.emplace_back();
            for (const Sums& c : chunks) totals.back().add(c);
        }
        for (const Sums& total : totals) CHECK(total == totals.front());
        CHECK(totals.front().elements == v.size());
        CHECK(totals.front().nonzero_bound == doctest::Approx(600'001));  // linf: no better than all
        CHECK(totals.front().bounded == v.size());
    }
}

TEST_CASE("the real kernel's draws lie where theory says") {
    const auto levels = test::exponential(7);
    for (const auto* k : kernels::runnable())
        for (std::uint32_t seed = 0; seed < 20; ++seed) {
            const auto v = test::laplace(512, 1e-4f, seed);
            const float S = test::l2(v);
            std::vector<std::uint8_t> symbols(v.size());
            const kernels::Grid grid{kernels::LevelKind::exponential, false, 7, 1, {}};
            k->quantize({v.data(), v.size(), 0, {seed, 5}, S}, grid, symbols.data());
            std::vector<float> table(kernels::kMaxSymbols), y(v.size());
            for (std::size_t j = 1; j <= 7; ++j) table[2 * j - 1] = levels[j], table[2 * j] = -levels[j];
            k->decode8(symbols.data(), v.size(), table.data(), S, y.data());
            const MeasureScheme scheme{k, LevelTable(levels, SymbolKind::magnitudes), 15, true};
            MeasureInput in = input_of(std::span<const float>(v), y, S);
            in.bound = Bounds(levels, SymbolKind::magnitudes, NormKind::l2).of(v.size());
            Sums sums;
            measure_coded(scheme, in, StatsLevel::full, sums);
            count_symbols(scheme, std::as_bytes(std::span(symbols)), sums);
            const Figures f = make_figures(sums, {});
            CHECK(std::abs(*f.nmse - *f.variance_exact) <= 6 * *f.variance_sd + 0x1p-20);
            CHECK(*f.variance_exact <= *f.variance_bound * (1 + 0x1p-20));
            CHECK(*f.variance_bound == *in.bound.variance);
            CHECK(sums.histogram.size() == 15);
            for (std::size_t s = 0; s < 15; ++s)
                CHECK(sums.histogram[s] == static_cast<std::uint64_t>(std::count(symbols.begin(), symbols.end(), s)));
            CHECK(*f.entropy_bits > 1);
            CHECK(*f.entropy_bits < std::log2(15.0));
        }
}

TEST_CASE("a norm that is known, and a scale that nothing exceeds, change no figure") {
    for (const auto& t : test::all_tables()) {
        if (t.kind != SymbolKind::magnitudes || !t.unit) continue;
        for (const auto* k : kernels::runnable())
            for (std::size_t n : kLengths) {
                CAPTURE(t.name);
                CAPTURE(n);
                const auto v = test::laplace(n, 1e-3f, 9);
                const float S = test::linf(v);
                const auto y = round_randomly(v, S, 0, test::signed_levels(t), 3).y;
                MeasureScheme scheme = scheme_of(t, k);
                scheme.clips = false;
                MeasureInput in = input_of(std::span<const float>(v), y, S);
                in.norm2 = k->sum_squares(v.data(), n);
                Sums got;
                measure_coded(scheme, in, StatsLevel::full, got);
                CHECK(got == measured(scheme_of(t, k), v, y, S));
            }
    }
}

TEST_CASE("histograms of any alphabet and length, on every target") {
    std::mt19937 gen(3);
    for (const auto* k : kernels::runnable())
        for (std::uint32_t alphabet : {2u, 3u, 15u, 16u, 17u, 255u, 256u})
            for (std::size_t n : {0u, 1u, 63u, 64u, 1000u, 20'000u, 70'001u}) {
                CAPTURE(alphabet);
                CAPTURE(n);
                MeasureScheme scheme{k, {}, alphabet, true};
                std::vector<std::uint8_t> symbols(n);
                for (auto& s : symbols) s = static_cast<std::uint8_t>(gen() % 3 ? 0 : gen() % alphabet);
                std::vector<std::uint64_t> want(n ? alphabet : 0);
                for (const auto s : symbols) ++want[s];
                Sums sums;
                count_symbols(scheme, std::as_bytes(std::span(symbols)), sums);
                CHECK(sums.histogram == want);
            }
}

TEST_CASE("counts: zeros, signs, symbols of two bytes, values that float32 flushes") {
    const std::vector<double> v{0, -0.0, 1, -1, 2, -2, 1e-60, -3};
    const std::vector<float> y{0, 1, 1, 1, 0, -2, 0, -3};
    const std::vector<std::uint16_t> symbols{0, 1, 300, 1, 0, 2, 0, 5};
    MeasureScheme scheme = scheme_of({"", test::uniform(255), SymbolKind::magnitudes, true});
    scheme.alphabet = 511;
    MeasureInput in = input_of(std::span<const double>(v), y, 3.0f);
    Sums s;
    measure_coded(scheme, in, StatsLevel::full, s);
    count_symbols(scheme, std::as_bytes(std::span(symbols)), s);
    CHECK(s.zeros_in == 2);
    CHECK(s.zeros_out == 3);
    CHECK(s.signs == 6);
    CHECK(s.sign_agreements == 3);
    CHECK(s.flushed == 1);
    CHECK(s.histogram.size() == 511);
    CHECK(s.histogram[0] == 3);
    CHECK(s.histogram[300] == 1);
    CHECK(s.max_abs_error == 2);
    CHECK(s.abs1 == doctest::Approx(9));
}

TEST_CASE("elements that come back bit for bit add norm and no error") {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> v{3, 0, -4, inf, NAN, -0.0f};
    const std::vector<double> wide(v.begin(), v.end());
    Sums a, b;
    measure_exact(std::span<const float>(v), true, StatsLevel::full, a);
    measure_exact(std::span<const double>(wide), true, StatsLevel::full, b);
    CHECK(a == b);
    CHECK(a.elements == 6);
    CHECK(a.escaped == 6);
    CHECK(a.nonfinite == 2);
    CHECK(a.coded == 0);
    CHECK(a.norm2 == 25);
    CHECK(a.error2 == 0);
    CHECK(a.dot == 25);
    CHECK(a.out2 == 25);
    CHECK(a.abs1 == 7);
    CHECK(a.zeros_in == 2);
    CHECK(a.zeros_out == 2);
    CHECK(a.signs == 2);
    CHECK(a.sign_agreements == 2);
    Sums lossless;
    measure_exact(std::span<const float>(v), false, StatsLevel::error, lossless);
    CHECK(lossless.escaped == 0);
    CHECK(lossless.norm2 == 25);
    CHECK(lossless.detailed == 0);
}

TEST_CASE("exact exceptions in a coded chunk are counted and left out") {
    auto v = test::laplace(100, 1.0f, 3);
    std::vector<float> y = v;
    for (auto& x : y) x *= 0.5f;
    std::vector<float> kept_v = v, kept_y = y;
    v.insert(v.begin() + 10, NAN), y.insert(y.begin() + 10, NAN);
    v.insert(v.begin() + 70, INFINITY), y.insert(y.begin() + 70, INFINITY);
    MeasureScheme scheme{kernels::runnable().back(), {}, 256, false};
    const Sums got = measured(scheme, v, y, 0.0f), want = measured(scheme, kept_v, kept_y, 0.0f);
    CHECK(got.nonfinite == 2);
    CHECK(got.elements == 102);
    CHECK(got.norm2 == want.norm2);
    CHECK(got.error2 == want.error2);
    CHECK(got.signs == want.signs);
    CHECK(got.expected == 0);
    CHECK(!make_figures(got, {}).variance_exact);
    CHECK(*make_figures(got, {}).nmse == 0.25);
}

TEST_CASE("level none counts and sums nothing; zeros and S = 0 expect nothing lost") {
    const std::vector<double> v{1, 1e-60};
    const std::vector<float> y{1, 0}, zeros(5);
    const test::TableCase t{"", test::exponential(3), SymbolKind::magnitudes, true};
    Sums s;
    measure_coded(scheme_of(t), input_of(std::span<const double>(v), y, 1.0f), StatsLevel::none, s);
    Sums want;
    want.elements = want.coded = 2, want.flushed = 1;
    CHECK(s == want);
    const Sums zero = measured(scheme_of(t), zeros, zeros, 0.0f);
    CHECK(zero.variance == 0);
    CHECK(zero.expected == 5);
    CHECK(zero.zeros_in == 5);
    CHECK(!make_figures(zero, {}).nmse);
    const std::vector<float> equal(5, 0.75f);  // offset = mean
    CHECK(measured(scheme_of(t), equal, equal, 0.0f, 0.75f).variance == 0);
}
