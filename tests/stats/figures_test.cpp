// lib/stats/figures.cpp, sums.cpp, log2.hpp: identities, and null where nothing is meant.
#include "stats/figures.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/dispatch.hpp"
#include "stats/log2.hpp"
#include "stats/measure.hpp"
#include "support/gen.hpp"

using namespace gradz;

namespace {

Sums of(const std::vector<float>& v, const std::vector<float>& y, bool stochastic = false) {
    const std::vector<float> levels{0, 0.5f, 1};
    const MeasureScheme scheme{kernels::runnable().back(), LevelTable(levels, SymbolKind::magnitudes), 256, stochastic};
    Sums sums;
    MeasureInput in{.v32 = v, .v64 = {}, .y = y, .scale = 4.0f};
    if (stochastic) in.bound.variance = 1.0;
    measure_coded(scheme, in, StatsLevel::full, sums);
    return sums;
}

std::vector<float> times(std::vector<float> v, float factor) {
    for (auto& x : v) x *= factor;
    return v;
}

}  // namespace

TEST_CASE("a perfect copy, zeros, and the opposite") {
    for (std::size_t n : {1u, 5u, 333u}) {
        const auto v = test::laplace(n, 3e-5f, 2);
        const Figures same = make_figures(of(v, v), {});
        CHECK(*same.nmse == 0);
        CHECK(*same.cosine == 1);
        CHECK(!same.snr_db);
        CHECK(*same.max_abs_error == 0);
        CHECK(*same.bias == 0);
        CHECK(*same.sign_agreement == 1);
        CHECK(*same.nonzero_fraction == 1);
        const Figures zero = make_figures(of(v, std::vector<float>(n)), {});
        CHECK(*zero.nmse == 1);
        CHECK(!zero.cosine);
        CHECK(*zero.snr_db == 0);
        CHECK(*zero.sign_agreement == 0);
        CHECK(*zero.nonzero_fraction == 0);
        CHECK(*zero.zeros_out == n);
        const Figures opposite = make_figures(of(v, times(v, -1)), {});
        CHECK(*opposite.nmse == 4);
        CHECK(*opposite.cosine == -1);
        CHECK(*opposite.sign_agreement == 0);
        const Figures half = make_figures(of(v, times(v, 0.5f)), {});
        CHECK(*half.nmse == 0.25);
        CHECK(*half.cosine == doctest::Approx(1).epsilon(1e-15));
        CHECK(*half.snr_db == doctest::Approx(20 * std::log10(2.0)).epsilon(1e-15));
    }
}

TEST_CASE("bias is signed and by the sum of magnitudes") {
    CHECK(*make_figures(of({1, -3}, {2, -2}), {}).bias == 0.5);
    CHECK(*make_figures(of({1, -3}, {0, -3}), {}).bias == -0.25);
}

TEST_CASE("sizes") {
    Sums s;
    measure_opaque(1000, s);
    const Figures f = make_figures(s, {.input = 8000, .output = 500});
    CHECK(*f.ratio == 16);
    CHECK(*f.ratio_fp32 == 8);
    CHECK(*f.ratio_fp16 == 4);
    CHECK(*f.bits_per_element == 4);
    CHECK(!f.nmse);
    CHECK(!f.cosine);
    CHECK(!f.zeros_in);
    CHECK(!f.entropy_bits);
    const Figures none = make_figures({}, {});
    CHECK(!none.ratio);
    CHECK(!none.bits_per_element);
    Bytes sum{1, 2, 3, 4, 5};
    sum.add({10, 20, 30, 40, 50});
    CHECK(sum == Bytes{11, 22, 33, 44, 55});
}

TEST_CASE("nothing is said of what was not measured, or not of all of it") {
    const std::vector<float> v{1, 2}, y{2, 2}, zeros(2);
    CHECK(!make_figures(of(zeros, y), {}).nmse);
    CHECK(!make_figures(of(v, y), {}).variance_exact);  // nearest
    CHECK(!make_figures(of(v, y), {}).variance_sd);
    const Figures stochastic = make_figures(of(v, y, true), {});
    CHECK(stochastic.variance_exact);
    CHECK(stochastic.variance_sd);
    CHECK(*stochastic.variance_bound == 1);
    Sums mixed;
    mixed.add_tensor(of(v, y, true));
    mixed.add_tensor(of(v, y, false));
    CHECK(!make_figures(mixed, {}).variance_exact);
    CHECK(!make_figures(mixed, {}).variance_bound);
    Sums with_lossless;
    with_lossless.add_tensor(of(v, y, true));
    measure_exact(std::span(v), false, StatsLevel::full, with_lossless);
    measure_opaque(10, with_lossless);
    CHECK(*make_figures(with_lossless, {}).variance_exact == *stochastic.variance_exact / 2);
    CHECK(*make_figures(with_lossless, {}).variance_bound == 0.5);
    CHECK(make_figures(with_lossless, {}).cosine);
    measure_exact(std::span(v), false, StatsLevel::error, with_lossless);
    CHECK(!make_figures(with_lossless, {}).cosine);  // details of a part only
    CHECK(make_figures(with_lossless, {}).nmse);
    Sums huge = of({3e38f}, {0});
    huge.norm2 = INFINITY;
    CHECK(!make_figures(huge, {}).nmse);
    CHECK(!make_figures(huge, {}).cosine);
}

TEST_CASE("totals are sums over sums; entropies are means over coded elements") {
    Sums a = of({3, 4}, {3, 3}), b = of({1, 0, 0, 0}, {0, 0, 0, 0});
    a.histogram = {1, 1};     // 1 bit
    b.histogram = {0, 0, 4};  // 0 bits
    Sums total;
    total.add_tensor(a);
    total.add_tensor(b);
    const Figures f = make_figures(total, {});
    CHECK(*f.nmse == 2.0 / 26);
    CHECK(*f.entropy_bits == 1.0 / 3);
    CHECK(f.elements == 6);
    Sums pooled = a;
    pooled.add(b);  // chunks of one tensor instead: symbols mean the same
    CHECK(*make_figures(pooled, {}).entropy_bits == doctest::Approx(std::log2(6.0) - 4 * 2 / 6.0));
    Sums uniform;
    uniform.histogram.assign(256, 17);
    CHECK(*make_figures(uniform, {}).entropy_bits == 8);
}

TEST_CASE("the portable logarithm: exact for powers of two, else within two ulps") {
    for (int e = -1074; e < 1024; ++e) CHECK(portable_log2(std::ldexp(1.0, e)) == e);
    double x = 1e-300;
    for (; x < 1e300; x *= 1.37) {
        const long double want = std::log2(static_cast<long double>(x));
        CHECK(std::abs(static_cast<double>(portable_log2(x) - want)) <= 0x1p-51 * static_cast<double>(std::abs(want)));
    }
    for (x = 0.9; x < 1.1; x += 0.00037) {
        const long double want = std::log2(static_cast<long double>(x));
        CHECK(std::abs(static_cast<double>(portable_log2(x) - want)) <= 0x1p-51 * static_cast<double>(std::abs(want)));
    }
}
