// lib/kernels/convert_element.hpp and its loops: values, rounding and NaN on every target.
#include "kernels/convert_element.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/dispatch.hpp"

using namespace gradz::kernels;
using Bytes = std::vector<std::uint8_t>;

namespace {

struct Small {
    int exponent_bits, mantissa_bits;
    float (*value)(std::int32_t);
    std::int32_t (*bits)(float);
};
const Small kSmall[] = {{5, 10, [](std::int32_t h) { return f16_value(h); }, [](float x) { return f16_bits(x); }},
                        {8, 7, [](std::int32_t h) { return bf16_value(h); }, [](float x) { return bf16_bits(x); }}};

// The definition of IEEE 754, in double.
double value_of(const Small& t, int h) {
    const int bias = (1 << (t.exponent_bits - 1)) - 1, e = h >> t.mantissa_bits & ((1 << t.exponent_bits) - 1);
    const int mantissa = h & ((1 << t.mantissa_bits) - 1);
    const double size = e == 2 * bias + 1 ? (mantissa ? NAN : INFINITY)
                        : e == 0          ? std::ldexp(mantissa, 1 - bias - t.mantissa_bits)
                                          : std::ldexp(mantissa + (1 << t.mantissa_bits), e - bias - t.mantissa_bits);
    return h & 0x8000 ? -size : size;
}

std::vector<float> probes() {
    std::vector<float> x = {0.0f, -0.0f, INFINITY, -INFINITY, 0x1p-149f, 3.4028235e38f, 65519.99f, 65520.0f, 0x1p-25f};
    std::mt19937 gen(1);
    for (std::uint32_t high = 0; high < 65536; ++high)  // every exponent, around every half of bf16
        for (std::uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu, 0x1000u, 0x0fffu, 0x1001u,
                                  static_cast<std::uint32_t>(gen() & 0xffffu)})
            if (high % 8 == 0 || low == 0x8000) x.push_back(std::bit_cast<float>(high << 16 | low));
    return x;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values, std::size_t offset) {
    Bytes out(values.size() * sizeof(T) + offset);
    std::memcpy(out.data() + offset, values.data(), values.size() * sizeof(T));
    return out;
}

}  // namespace

TEST_CASE("all 65536 values of float16 and bfloat16, there and back") {
    for (const Small& t : kSmall)
        for (std::int32_t h = 0; h < 65536; ++h) {
            const double want = value_of(t, h);
            const float got = t.value(h);
            const auto bits = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(got) >> 16 & 0x8000);
            if ((bits != (h & 0x8000)) || (std::isnan(want) ? !std::isnan(got) : got != want)) FAIL_CHECK(h);
            const std::int32_t quiet = std::isnan(want) ? 1 << (t.mantissa_bits - 1) : 0;
            if (t.bits(got) != (h | quiet)) FAIL_CHECK(h);
        }
}

TEST_CASE("float32 rounds to the nearest value, ties to even, beyond the middle of the last gap to infinity") {
    for (const Small& t : kSmall)
        for (const float x : probes()) {
            if (std::isnan(x)) continue;
            const std::int32_t h = t.bits(x), a = h & 0x7fff,
                               infinity = ((1 << t.exponent_bits) - 1) << t.mantissa_bits;
            CHECK((h >> 15) == (std::signbit(x) ? 1 : 0));
            REQUIRE(a <= infinity);
            // Infinity counts as the value that would follow the largest.
            const auto value = [&](std::int32_t b) {
                return b < infinity ? value_of(t, b) : std::ldexp(1.0, 1 << (t.exponent_bits - 1));
            };
            const double size = std::min(std::abs(static_cast<double>(x)), value(infinity));
            const double off = std::abs(size - value(a));
            for (const std::int32_t other : {a - 1, a + 1}) {
                if (other < 0 || other > infinity) continue;
                const double its = std::abs(size - value(other));
                CHECK((off < its || (off == its && a % 2 == 0)));
            }
        }
}

TEST_CASE("NaN stays one: quiet, its sign and upper bits kept") {
    const auto nan = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
    CHECK(f16_bits(nan(0x7f800001)) == 0x7e00);  // a payload that has no upper bits
    CHECK(f16_bits(nan(0xffabe000)) == 0xff5f);
    CHECK(bf16_bits(nan(0x7f800001)) == 0x7fc0);
    CHECK(bf16_bits(nan(0xff890000)) == 0xffc9);
    CHECK(std::bit_cast<std::uint32_t>(f16_value(0x7c01)) == 0x7fc02000);
    CHECK(std::bit_cast<std::uint32_t>(bf16_value(0xff81)) == 0xffc10000);
    const std::vector<std::uint64_t> doubles = {0x7ff0000000000001, 0xfff4567890000000, 0x7ff8123456789abc};
    const std::uint32_t want[] = {0x7fc00000, 0xffe2b3c4, 0x7fc091a2};
    for (const Kernels* k : runnable()) {
        std::uint32_t got[3];
        Bytes back(24);
        CHECK(k->f32_from_f64(bytes_of(doubles, 0).data(), 3, reinterpret_cast<float*>(got)) == 0);
        for (int i = 0; i < 3; ++i) CHECK(got[i] == want[i]);
        const std::vector<std::uint32_t> floats = {0x7f800001, 0xffabe001};
        k->f64_from_f32(reinterpret_cast<const float*>(floats.data()), 2, back.data());
        std::uint64_t wide[2];
        std::memcpy(wide, back.data(), sizeof wide);
        CHECK((wide[0] == 0x7ff8000020000000 && wide[1] == 0xfffd7c0020000000));
    }
}

TEST_CASE("every target converts as the element functions do, any length and alignment") {
    const auto all = probes();
    for (const Kernels* k : runnable())
        for (std::size_t n : {std::size_t{1}, std::size_t{3}, std::size_t{17}, std::size_t{129}, all.size()})
            for (std::size_t offset : {0u, 1u}) {
                CAPTURE(k->target);
                CAPTURE(n);
                const std::vector<float> x(all.end() - static_cast<std::ptrdiff_t>(n), all.end());
                std::vector<std::uint16_t> half(n), brain(n);
                for (std::size_t i = 0; i < n; ++i)
                    half[i] = static_cast<std::uint16_t>(f16_bits(x[i])),
                    brain[i] = static_cast<std::uint16_t>(bf16_bits(x[i]));
                Bytes got(2 * n + offset);
                k->f16_from_f32(x.data(), n, got.data() + offset);
                CHECK(got == bytes_of(half, offset));
                k->bf16_from_f32(x.data(), n, got.data() + offset);
                CHECK(got == bytes_of(brain, offset));

                for (auto& h : half) h = static_cast<std::uint16_t>(h * 40503u);  // any bits, signalling NaN too
                std::vector<float> wide(n), want(n);
                k->f32_from_f16(bytes_of(half, offset).data() + offset, n, wide.data());
                for (std::size_t i = 0; i < n; ++i) want[i] = f16_value(half[i]);
                CHECK(std::memcmp(wide.data(), want.data(), 4 * n) == 0);
                k->f32_from_bf16(bytes_of(half, offset).data() + offset, n, wide.data());
                for (std::size_t i = 0; i < n; ++i) want[i] = bf16_value(half[i]);
                CHECK(std::memcmp(wide.data(), want.data(), 4 * n) == 0);
            }
}

TEST_CASE("float64: nearest even, vanishing elements are counted") {
    const std::vector<double> d = {1.0 + 0x1p-24, 1.0 + 0x3p-24, 1e300, -1e-300,   0x1p-150, 0x1.000001p-150,
                                   0.0,           -0.0,          NAN,   0x1p-1074, 3.0};
    const std::vector<float> want = {1.0f, 1.0f + 0x1p-22f, INFINITY, -0.0f, 0.0f, 0x1p-149f,
                                     0.0f, -0.0f,           NAN,      0.0f,  3.0f};
    for (const Kernels* k : runnable())
        for (std::size_t n = 0; n <= d.size(); ++n)
            for (std::size_t offset : {0u, 3u}) {
                std::vector<float> x(n);
                const std::size_t vanished[] = {0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 3, 3};
                CHECK(k->f32_from_f64(bytes_of(d, offset).data() + offset, n, x.data()) == vanished[n]);
                for (std::size_t i = 0; i < n; ++i)
                    CHECK((std::isnan(want[i]) ? std::isnan(x[i])
                                               : x[i] == want[i] && std::signbit(x[i]) == std::signbit(want[i])));
                Bytes back(8 * n + offset);
                k->f64_from_f32(x.data(), n, back.data() + offset);
                for (std::size_t i = 0; i < n; ++i) {
                    double y;
                    std::memcpy(&y, &back[8 * i + offset], sizeof y);
                    CHECK((std::isnan(y) ? std::isnan(x[i]) : y == static_cast<double>(x[i])));
                }
            }
}
