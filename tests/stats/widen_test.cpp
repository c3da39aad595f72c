// lib/stats/widen.cpp: every value of the small types, and unaligned bytes.
#include "stats/widen.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace gradz;

namespace {

template <class T>
double widened(DType dtype, T value) {
    std::byte bytes[sizeof(T) + 1];
    std::memcpy(bytes + 1, &value, sizeof value);
    double out = 0;
    widen(dtype, std::span(bytes).subspan(1), std::span(&out, 1));
    return out;
}

// By the definition: sign, exponent, significand.
double by_definition(std::uint16_t bits, int mantissa_bits, int bias) {
    const int exponent = (bits & 0x7fff) >> mantissa_bits, top = 0x7fff >> mantissa_bits;
    const double fraction = std::ldexp(bits & ((1 << mantissa_bits) - 1), -mantissa_bits);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == top) return fraction == 0 ? sign * INFINITY : NAN;
    return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

bool alike(double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("all float16 and bfloat16 values") {
    int wrong = 0;
    for (std::uint32_t i = 0; i < 65536; ++i) {
        const auto bits = static_cast<std::uint16_t>(i);
        wrong += !alike(widened(DType::f16, bits), by_definition(bits, 10, 15));
        wrong += !alike(widened(DType::bf16, bits), by_definition(bits, 7, 127));
    }
    CHECK(wrong == 0);
}

TEST_CASE("the other types are themselves") {
    CHECK(widened(DType::f32, 1e-45f) == static_cast<double>(1e-45f));
    CHECK(widened(DType::f64, 1e-300) == 1e-300);
    CHECK(widened(DType::i8, std::int8_t{-128}) == -128);
    CHECK(widened(DType::u8, std::uint8_t{255}) == 255);
    CHECK(widened(DType::boolean, std::uint8_t{1}) == 1);
    CHECK(widened(DType::i16, std::int16_t{-32768}) == -32768);
    CHECK(widened(DType::u16, std::uint16_t{65535}) == 65535);
    CHECK(widened(DType::i32, std::int32_t{-7}) == -7);
    CHECK(widened(DType::u32, std::uint32_t{0xffffffffu}) == 0xffffffffu);
    CHECK(widened(DType::i64, std::int64_t{-1} << 60) == -0x1p60);
    CHECK(widened(DType::u64, std::uint64_t{1} << 63) == 0x1p63);
    const float pair[2] = {1.5f, -2};
    double out[2];
    widen(DType::c64, std::as_bytes(std::span(pair)), out);
    CHECK(out[0] == 1.5);
    CHECK(out[1] == -2);
    CHECK(doubles_per_element(DType::c128) == 2);
    CHECK(doubles_per_element(DType::f8_e5m2fnuz) == 0);
}
