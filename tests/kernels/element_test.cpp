// lib/kernels/*_element.hpp: golden values, and expectations over all random bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/philox_element.hpp"
#include "kernels/quantize_element.hpp"
#include "kernels/table.hpp"

using namespace gradz::kernels;

namespace {

std::int32_t symbol(float x, ExponentialHalf rule, int h, int l) {
    const Step step = rule(scaled(x, 1.0f));
    return signed_symbol(x, step.k + rounds_up(step, h, l));
}

template <class Rule>
std::int32_t nearest(float x, Rule rule) {
    const Step step = rule(scaled(x, 1.0f));
    return signed_symbol(x, step.k + rounds_to_nearest(step));
}

// The rule of any table, as a rule of r alone.
struct ByTable {
    const LevelTable& table;
    Step operator()(float r) const {
        const TableView view = table.view();
        const std::int32_t k = find_level(view, r);
        return table_step(k, r, view.levels[k], view.weights[k]);
    }
};

std::vector<float> powers(double p, int m) {  // 0, p^(m-1), .., p, 1
    std::vector<float> levels(static_cast<std::size_t>(m) + 1);
    double power = 1;
    for (auto at = levels.rbegin(); at + 1 != levels.rend(); ++at, power *= p) *at = static_cast<float>(power);
    return levels;
}

std::vector<float> both_signs(const std::vector<float>& magnitudes) {
    std::vector<float> table(magnitudes.begin() + 1, magnitudes.end());
    for (std::size_t k = 1; k < magnitudes.size(); ++k) table.push_back(-magnitudes[k]);
    std::sort(table.begin(), table.end());
    return table;
}

}  // namespace

TEST_CASE("philox: the known answers of Random123") {
    const auto draw = [](std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, PhiloxKey key) {
        std::uint64_t w[4] = {a, b, c, d};
        philox<SingleLane>(w, key);
        for (auto& x : w) x &= 0xffffffffu;
        return std::vector<std::uint64_t>(w, w + 4);
    };
    using Words = std::vector<std::uint64_t>;
    CHECK(draw(0, 0, 0, 0, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    const std::uint64_t f = 0xffffffffu;
    CHECK(draw(f, f, f, f, {0xffffffffu, 0xffffffffu}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(draw(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, {0xa4093822u, 0x299f31d0u}) ==
          Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox: element 16 k of the first group reads half k of block 0") {
    const std::uint32_t want[8] = {0xe8d5, 0x6627, 0xc58d, 0xe169, 0xac4c, 0xbc57, 0xdbd8, 0x9b00};
    for (unsigned k = 0; k < 8; ++k) CHECK(philox_half(16 * k, {0, 0}, kUpperHalf) == want[k]);
    CHECK(philox_half(1, {0, 0}, kUpperHalf) != want[0]);  // block 1
    CHECK(philox_half(0, {0, 0}, kLowerHalf) != want[0]);  // another domain
}

TEST_CASE("nuqsgd: golden symbols, S = 1, m = 7") {
    const ExponentialHalf m7{7, 64.0f};
    CHECK(symbol(0.5f, m7, 0, 0) == 11);  // level 6 exactly: T = 0 never rounds up
    CHECK(symbol(-0.5f, m7, 0, 0) == 12);
    CHECK(symbol(1.0f, m7, 0, 0) == 13);
    CHECK(symbol(1.0000001f, m7, 0, 0) == 13);  // S was rounded down: capped
    CHECK(symbol(-0.0f, m7, 0, 0) == 0);
    CHECK(symbol(0.75f, m7, 0x7fff, 0xffff) == 13);  // half-way: T = 2^31
    CHECK(symbol(0.75f, m7, 0x8000, 0) == 11);
    CHECK(symbol(0x1.000002p-1f, m7, 0, 511) == 13);  // mantissa 1: T = 512, only l decides
    CHECK(symbol(0x1.000002p-1f, m7, 0, 512) == 11);
    CHECK(symbol(-0x1p-7f, m7, 0x7fff, 0xffff) == 2);  // half of level 1
    CHECK(symbol(-0x1p-7f, m7, 0x8000, 0) == 0);
    CHECK(symbol(0x1.8p-22f, m7, 1, 0x7fff) == 1);  // f = 1.5 * 2^-16: hi = 1, lo = 2^15
    CHECK(symbol(0x1.8p-22f, m7, 1, 0x8000) == 0);
    const ExponentialHalf m127{127, 0x1p126f};  // level 1 is the smallest normal float
    CHECK(symbol(0x1p-126f, m127, 0, 0) == 1);
    CHECK(symbol(0x1p-127f, m127, 0x7fff, 0xffff) == 1);  // subnormal, half of level 1
    CHECK(symbol(0x1p-127f, m127, 0x8000, 0) == 0);
}

TEST_CASE("nearest: halves go to the even level") {
    const ExponentialHalf m7{7, 64.0f};
    CHECK(nearest(0.75f, m7) == 11);           // between 6 and 7
    CHECK(nearest(0x1.800002p-1f, m7) == 13);  // one ulp above the middle
    CHECK(nearest(0.375f, m7) == 11);          // between 5 and 6
    CHECK(nearest(0x1.7ffffep-2f, m7) == 9);   // one ulp below
    CHECK(nearest(-0x1p-7f, m7) == 0);         // between 0 and 1
    CHECK(nearest(-0x1.000002p-7f, m7) == 2);
    CHECK(nearest(1.0f, m7) == 13);
    const Uniform m4{4};
    CHECK(nearest(0.125f, m4) == 0);
    CHECK(nearest(-0.375f, m4) == 4);
    CHECK(nearest(0.625f, m4) == 3);
    CHECK(nearest(0x1.400002p-1f, m4) == 5);
    const LevelTable thirds(std::vector<float>{0.0f, 0.25f, 0.75f, 1.0f});
    CHECK(nearest(0.125f, ByTable{thirds}) == 0);
    CHECK(nearest(0.5f, ByTable{thirds}) == 3);
    CHECK(nearest(0.875f, ByTable{thirds}) == 3);
    CHECK(nearest(0.4999f, ByTable{thirds}) == 1);
}

// The authors' table for 4 bits: -1, -1/2, .., -2^-7, 2^-7, .., 1, and S = 4.
TEST_CASE("signed table: golden symbols, up is toward plus infinity") {
    const LevelTable authors(both_signs(powers(0.5, 8)));
    const auto round = [&](float x, int h, int l) {
        const Step step = ByTable{authors}(scaled_signed(x, 4.0f, 1.0f));
        return step.k + rounds_up(step, h, l);
    };
    for (int h : {0, 0x7fff, 0x8000, 0xffff}) {
        const bool low = h < 0x8000;
        CHECK(round(3.0f, h, 0xffff) == (low ? 15 : 14));  // 4 or 2
        CHECK(round(-3.0f, h, 0xffff) == (low ? 1 : 0));   // -2 or -4
        CHECK(round(0.0f, h, 0xffff) == (low ? 8 : 7));    // 4 2^-7 or its negative: there is no zero
        CHECK(round(-0.0f, h, 0xffff) == (low ? 8 : 7));
        for (int k = 0; k < 16; ++k) CHECK(round(4 * authors.view().levels[k], h, 0) == k);  // levels stay
        CHECK(round(4.000001f, h, 0) == 15);
        CHECK(round(-4.000001f, h, 0) == 0);
    }
    CHECK(round(1.25f, 0x3fff, 0xffff) == 14);  // a quarter of the way from 1 to 2
    CHECK(round(1.25f, 0x4000, 0) == 13);
    CHECK(round(-1.25f, 0xbfff, 0xffff) == 2);  // three quarters from -2 to -1
    CHECK(round(-1.25f, 0xc000, 0) == 1);
}

// Counts over all 2^32 (h, l): h < hi always rounds up, h > hi never, and at h = hi the l
// below lo do. Here the 2^16 h are run, and for the tie all 2^16 l.
template <class Rule, class Level>
double expected_level(float r, Rule rule, Level level) {
    const Step step = rule(r);
    double up = 0;
    for (int h = 0; h < 65536; ++h) {
        const int low = rounds_up(step, h, 0), high = rounds_up(step, h, 65535);
        if (low == high) up += 65536.0 * low;
        else
            for (int l = 0; l < 65536; ++l) up += rounds_up(step, h, l);
    }
    const double p = up / 0x1p32, below = level(step.k);
    return p > 0 ? below + p * (level(step.k + 1) - below) : below;
}

TEST_CASE("unbiased: exact over all random bits") {
    for (float x : {1.0f, 0.9999999f, 0.7071067f, 0.3f, 0.0117f, 1e-3f, 3e-6f, 1e-20f, 1e-37f, 1e-39f, 1e-42f})
        for (float S : {1.0f, 1.7f, 3e4f})
            for (int m : {1, 3, 7, 63, 119, 127}) {
                CAPTURE(x);
                CAPTURE(S);
                CAPTURE(m);
                const float r = scaled(x, S);
                // r itself rounds: 2^-24 of it, or 2^-150 where it is subnormal.
                const double rounding = r * 0x1p-21 + 0x1p-150, exact = std::min(double{x} / S, 1.0);
                const double e = expected_level(r, ExponentialHalf{m, std::ldexp(1.0f, m - 1)},
                                                [&](std::int32_t k) { return k ? std::ldexp(1.0, k - m) : 0.0; });
                CHECK(std::abs(e - exact) <= rounding + std::ldexp(1.0, -32) * std::max(exact, std::ldexp(1.0, 1 - m)));
                const double u = expected_level(r, Uniform{static_cast<float>(m)},
                                                [&](std::int32_t k) { return k / static_cast<double>(m); });
                CHECK(std::abs(u - exact) <= rounding + 0x1p-32 / m);
            }
}

// Tables add the roundings of r - level, of the weight and of their product.
void check_unbiased(const LevelTable& table, std::int32_t top, float r, double exact) {
    const auto& levels = table.view().levels;
    const ByTable rule{table};
    const std::int32_t k = rule(r).k;
    const double gap = k < top ? static_cast<double>(levels[k + 1]) - levels[k] : 0;
    const double e = expected_level(r, rule, [&](std::int32_t i) { return static_cast<double>(levels[i]); });
    CHECK(std::abs(e - exact) <= std::abs(exact) * 0x1p-21 + gap * (0x1p-32 + 0x1p-22) + 0x1p-149);
}

TEST_CASE("tables are unbiased, exact over all random bits") {
    for (double p : {0.1, 0.37, 0.5, 0.77, 0.9, 0.999, 0.99999})
        for (int m : {1, 2, 7, 31, 127, 255}) {
            const auto levels = powers(p, m);
            if (!std::isnormal(levels[1])) continue;
            const bool fits = 2 * m <= kMaxLevels;
            const LevelTable magnitudes(levels), both(fits ? both_signs(levels) : levels);
            for (float x : {1.0f, 0.9999999f, 0.9993f, 0.7071067f, 0.3f, 0.0117f, 3e-6f, 1e-20f, 1e-37f, 1e-42f, 0.0f})
                for (float S : {1.0f, 1.7f}) {
                    CAPTURE(p);
                    CAPTURE(m);
                    CAPTURE(x);
                    const double exact = std::min(static_cast<double>(x) / S, 1.0);
                    check_unbiased(magnitudes, m, scaled(x, S), exact);
                    if (!fits) continue;
                    check_unbiased(both, 2 * m - 1, scaled_signed(x, S, 1.0f), exact);
                    check_unbiased(both, 2 * m - 1, scaled_signed(-x, S, 1.0f), -exact);
                }
        }
}
