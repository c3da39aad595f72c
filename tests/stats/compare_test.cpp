// lib/stats/compare.cpp: identities, bits, mixed types, merging.
#include "stats/compare.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "support/gen.hpp"

using namespace gradz;

namespace {

template <class A, class B>
Comparison compared(DType a_type, const std::vector<A>& a, DType b_type, const std::vector<B>& b) {
    Comparison c;
    c.add_chunk(a_type, std::as_bytes(std::span(a)), b_type, std::as_bytes(std::span(b)));
    return c;
}

Comparison compared(const std::vector<float>& a, const std::vector<float>& b) {
    return compared(DType::f32, a, DType::f32, b);
}

}  // namespace

TEST_CASE("the same, scaled, zero") {
    const auto v = test::laplace(3000, 1e-20f, 2);
    auto half = v;
    for (auto& x : half) x *= 0.5f;
    const Comparison same = compared(v, v);
    CHECK(same.identical());
    CHECK(*same.nmse() == 0);
    CHECK(*same.cosine() == 1);
    CHECK(*same.max_abs_error() == 0);
    CHECK(same.within(0));
    const Comparison scaled = compared(v, half);
    CHECK(scaled.differing() == 3000);
    CHECK(*scaled.nmse() == 0.25);
    CHECK(*scaled.cosine() == doctest::Approx(1).epsilon(1e-15));
    CHECK(scaled.within(0.25));
    CHECK(!scaled.within(0.2499));
    const Comparison to_zero = compared(v, std::vector<float>(3000));
    CHECK(*to_zero.nmse() == 1);
    CHECK(!to_zero.cosine());
    const Comparison from_zero = compared(std::vector<float>(3000), v);
    CHECK(!from_zero.nmse());
    CHECK(!from_zero.within(1e30));
    CHECK(compared(std::vector<float>{}, {}).identical());
}

TEST_CASE("zeros of either sign differ and are not apart") {
    const Comparison c = compared({0.0f, 1.0f}, {-0.0f, 1.0f});
    CHECK(c.differing() == 1);
    CHECK(c.within(0));
    CHECK(compared({0.0f}, {-0.0f}).within(0));
}

TEST_CASE("non-finite values are only themselves") {
    const float other = std::bit_cast<float>(0x7fc00001u), signalling = std::bit_cast<float>(0x7f800001u);
    const float quieted = std::bit_cast<float>(0x7fc00001u);
    CHECK(compared({NAN, INFINITY, 1}, {NAN, INFINITY, 1}).identical());
    CHECK(*compared({NAN, INFINITY, 1}, {NAN, INFINITY, 3}).nmse() == 4);
    CHECK(compared({NAN, 1}, {other, 1}).nonfinite_differing() == 1);
    CHECK(!compared({NAN, 1}, {other, 1}).within(1e30));
    CHECK(compared({signalling}, {quieted}).nonfinite_differing() == 1);  // alike as float64
    CHECK(compared({1, 1}, {NAN, 1}).nonfinite_differing() == 1);
    CHECK(*compared({1, 1}, {NAN, 1}).nmse() == 0);
    CHECK(!compared({1, 1}, {INFINITY, 1}).within(1e30));
}

TEST_CASE("different float types compare as float64") {
    const std::vector<float> v{1, -2.5f, 0, 65504, INFINITY};
    const std::vector<double> wide(v.begin(), v.end());
    const std::vector<std::uint16_t> half{0x3c00, 0xc100, 0, 0x7bff, 0x7c00};
    CHECK(compared(DType::f32, v, DType::f64, wide).identical());
    CHECK(compared(DType::f32, v, DType::f16, half).identical());
    CHECK(compared(DType::f16, half, DType::f64, wide).identical());
    const std::vector<std::uint16_t> brain{0x3f80, 0xc020, 0, 0x4780, 0x7f80};  // 65536 for 65504
    const Comparison c = compared(DType::f32, v, DType::bf16, brain);
    CHECK(c.differing() == 1);
    CHECK(*c.max_abs_error() == 32);
    CHECK(c.elements() == 5);
}

TEST_CASE("integers, complex numbers, 8-bit floats") {
    const std::vector<std::int64_t> large{std::int64_t{1} << 60}, next{(std::int64_t{1} << 60) + 1};
    const Comparison c = compared(DType::i64, large, DType::i64, next);
    CHECK(c.differing() == 1);
    CHECK(*c.max_abs_error() == 1);  // equal as doubles
    CHECK(!c.within(0));
    CHECK(*compared(DType::i32, std::vector<int>{1, 5}, DType::i32, std::vector<int>{1, 2}).max_abs_error() == 3);
    const std::vector<float> a{1, 2, 3, 4}, b{1, 2, 0, 0};
    CHECK(compared(DType::c64, a, DType::c64, b).differing() == 1);
    CHECK(compared(DType::c64, a, DType::c64, b).elements() == 2);
    CHECK(*compared(DType::c64, a, DType::c64, b).nmse() == 25.0 / 30);
    const std::vector<std::uint8_t> x{1, 2}, y{1, 3};
    const Comparison bytes = compared(DType::f8_e4m3, x, DType::f8_e4m3, y);
    CHECK(bytes.differing() == 1);
    CHECK(!bytes.nmse());
    CHECK(!bytes.max_abs_error());
    CHECK(!bytes.within(1e30));
    CHECK(compared(DType::f8_e4m3, x, DType::f8_e4m3, x).within(0));
}

TEST_CASE("chunks add up") {
    const auto v = test::laplace(5000, 1.0f, 4), w = test::laplace(5000, 1.0f, 5);
    const auto whole = compared(v, w);
    Comparison merged;
    for (std::size_t i = 0; i < v.size(); i += 1700) {
        const std::size_t n = std::min<std::size_t>(1700, v.size() - i);
        Comparison part;
        part.add_chunk(DType::f32, std::as_bytes(std::span(v).subspan(i, n)), DType::f32,
                       std::as_bytes(std::span(w).subspan(i, n)));
        merged.add(part);
    }
    CHECK(merged.elements() == whole.elements());
    CHECK(merged.differing() == whole.differing());
    CHECK(*merged.max_abs_error() == *whole.max_abs_error());
    CHECK(*merged.nmse() == doctest::Approx(*whole.nmse()).epsilon(1e-12));
    CHECK(*merged.cosine() == doctest::Approx(*whole.cosine()).epsilon(1e-9));
}
