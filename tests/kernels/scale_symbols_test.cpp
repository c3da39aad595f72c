// lib/kernels/scale-inl.hpp, symbols-inl.hpp: the order of sums; decoding.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/dispatch.hpp"
#include "support/gen.hpp"

using namespace gradz;
using namespace gradz::kernels;

TEST_CASE("golden sums pin the order of additions; max_abs keeps NaN") {
    std::vector<float> x(32);  // 2^54 swallows small addends, so the order shows
    for (int i = 0; i < 32; ++i) x[static_cast<std::size_t>(i)] = i ? static_cast<float>(i * i * 2 % 97) / 64 : 0x1p27f;
    std::vector<float> spans(65536 + 65);  // three ones in lane 0, swallowed singly by 2^54
    spans[0] = 0x1p27f, spans[65536] = spans[65568] = spans[65600] = 1;
    for (const Kernels* k : runnable()) {
        CHECK(k->sum_squares(x.data(), 32) == 0x1p54 + 24);
        CHECK(k->sum_squares(spans.data(), 65536 + 65) == 0x1p54 + 4);
        spans[70] = NAN;
        CHECK(std::isnan(k->max_abs(spans.data(), 1000)));
        CHECK(std::isnan(k->sum_squares(spans.data(), 1000)));
        CHECK(k->max_abs(spans.data(), 70) == 0x1p27f);
        spans[70] = -INFINITY;
        CHECK(k->max_abs(spans.data(), 1000) == INFINITY);
        CHECK(k->sum_squares(spans.data(), 1000) == INFINITY);
        spans[70] = 0;
    }
}

TEST_CASE("sums: same bits on every target") {
    const Kernels& scalar = *runnable().front();
    for (std::size_t n : {1, 2, 3, 7, 16, 31, 33, 63, 65, 128, 129, 512, 1025})
        for (const Kernels* k : runnable()) {
            const auto x = test::laplace(n + 1, 1e-42f, 3);
            CHECK(k->sum_squares(x.data() + 1, n) == scalar.sum_squares(x.data() + 1, n));
            CHECK(k->max_abs(x.data() + 1, n) == scalar.max_abs(x.data() + 1, n));
            const std::vector<double> wide(x.begin(),
                                           x.end());  // the same order: the same sums where squares are exact
            CHECK(k->sum_squares_f64(wide.data() + 1, n) == scalar.sum_squares(x.data() + 1, n));
        }
}

TEST_CASE("decoding is one product per element, and any symbol is safe") {
    std::vector<float> table(kMaxSymbols);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i) / 7 * (i % 2 ? 1.0f : -1.0f);
    for (std::size_t n : {0, 1, 3, 16, 31, 127, 128, 129, 300, 512, 1025})
        for (std::uint32_t alphabet : {2u, 15u, 16u, 17u, 256u, 511u, 65536u})
            for (const Kernels* k : runnable()) {
                CAPTURE(n);
                CAPTURE(alphabet);
                CAPTURE(k->target);
                std::vector<std::uint8_t> narrow(n), wide(2 * n + 1);
                std::vector<float> want(n), got(n);
                std::int32_t top = 0;
                for (std::size_t i = 0; i < n; ++i) {
                    const auto symbol = static_cast<std::uint16_t>(i * 7919 % alphabet);
                    top = std::max<std::int32_t>(top, symbol);
                    narrow[i] = static_cast<std::uint8_t>(symbol);
                    std::memcpy(&wide[2 * i + 1], &symbol, sizeof symbol);
                    want[i] = 3e-39f * table[symbol % kMaxSymbols];
                }
                CHECK(k->decode16(wide.data() + 1, n, table.data(), 3e-39f, got.data()) == top);
                CHECK((n == 0 || std::memcmp(got.data(), want.data(), n * sizeof(float)) == 0));
                if (alphabet > 256) continue;
                std::fill(got.begin(), got.end(), -1.0f);
                CHECK(k->decode8(narrow.data(), n, table.data(), 3e-39f, got.data()) == top);
                CHECK((n == 0 || std::memcmp(got.data(), want.data(), n * sizeof(float)) == 0));
            }
}
