// lib/kernels/scale-inl.hpp, symbols-inl.hpp: the order of sums, packing, decoding.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/dispatch.hpp"
#include "support/gen.hpp"

using namespace gradz;
using kernels::Kernels;
using Bytes = std::vector<std::uint8_t>;

TEST_CASE("golden sums pin the order of additions; max_abs keeps NaN") {
    std::vector<float> x(32);  // 2^54 swallows small addends, so the order shows
    for (int i = 0; i < 32; ++i) x[static_cast<std::size_t>(i)] = i ? static_cast<float>(i * i * 2 % 97) / 64 : 0x1p27f;
    std::vector<float> spans(65536 + 65);  // three ones in lane 0, swallowed singly by 2^54
    spans[0] = 0x1p27f, spans[65536] = spans[65568] = spans[65600] = 1;
    for (const Kernels* k : kernels::runnable()) {
        CHECK(k->sum_squares(x.data(), 32) == 0x1p54 + 24);
        CHECK(k->sum_squares(spans.data(), 65536 + 65) == 0x1p54 + 4);
        spans[70] = NAN;
        CHECK(std::isnan(k->max_abs(spans.data(), 1000)));
        CHECK(k->max_abs(spans.data(), 70) == 0x1p27f);
        spans[70] = 0;
    }
}

TEST_CASE("sums, packing and decoding: same bytes on every target") {
    const Kernels& scalar = *kernels::runnable().front();
    std::vector<float> table(256);
    for (std::size_t i = 0; i < 15; ++i) table[i] = static_cast<float>(i) / 7;
    for (std::size_t n : {1, 2, 3, 7, 16, 31, 33, 63, 65, 128, 129, 512, 1025})
        for (const Kernels* k : kernels::runnable()) {
            CAPTURE(n);
            CAPTURE(k->target);
            const auto x = test::laplace(n, 1e-42f, 3);
            CHECK(k->sum_squares(x.data(), n) == scalar.sum_squares(x.data(), n));
            CHECK(k->max_abs(x.data(), n) == scalar.max_abs(x.data(), n));
            Bytes symbols(n), packed((n + 1) / 2), unpacked(n);
            for (std::size_t i = 0; i < n; ++i) symbols[i] = static_cast<std::uint8_t>(i * 7 % 15);
            k->pack4(symbols.data(), n, packed.data());
            for (std::size_t i = 0; i < n; ++i) unpacked[i] = packed[i / 2] >> i % 2 * 4 & 15;
            CHECK(unpacked == symbols);
            std::vector<float> want(n), got(n);
            CHECK(scalar.decode(symbols.data(), n, table.data(), 3e-39f, want.data()) ==
                  k->decode(symbols.data(), n, table.data(), 3e-39f, got.data()));
            CHECK(std::memcmp(got.data(), want.data(), n * sizeof(float)) == 0);
        }
}
