// lib/quant/convert.cpp: elements of each type to float32 and back.
#include "quant/convert.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/dispatch.hpp"

using namespace gradz;

TEST_CASE("values that a type holds survive the way through it") {
    const std::vector<float> x = {0.0f, -0.0f, 1.5f, -2.0f, 0x1p-14f, 0x1.fcp10f, INFINITY};
    for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        std::vector<std::byte> bytes(x.size() * size_of(t) + 1);
        const std::span<std::byte> odd(bytes.data() + 1, bytes.size() - 1);
        std::vector<float> back(x.size());
        from_float32(**kernels::active(), t, x, odd);
        CHECK(to_float32(**kernels::active(), t, odd, back) == 0);
        CHECK(back == x);
        CHECK(std::signbit(back[1]));
        CHECK(to_float32(**kernels::active(), t, {}, {}) == 0);
    }
}

TEST_CASE("vanishing float64 is counted, and float32 is copied bit for bit") {
    const double d[] = {1e-60, 1.0, -1e-60, 0.0};
    float x[4];
    CHECK(to_float32(**kernels::active(), DType::f64, std::as_bytes(std::span(d)), x) == 2);
    const std::uint32_t signalling[] = {0x7f800001};
    std::uint32_t got[1];
    to_float32(**kernels::active(), DType::f32, std::as_bytes(std::span(signalling)),
               {reinterpret_cast<float*>(got), 1});
    CHECK(got[0] == signalling[0]);
}

TEST_CASE("finite_as: up to the middle of the gap below infinity") {
    const float largest = std::numeric_limits<float>::max();
    CHECK((finite_as(DType::f32, largest) && finite_as(DType::f64, largest) && !finite_as(DType::bf16, largest)));
    CHECK((finite_as(DType::f16, -65519.0f) && !finite_as(DType::f16, -65520.0f)));
    for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16})
        CHECK((finite_as(t, -1.0f) && !finite_as(t, -INFINITY) && !finite_as(t, NAN)));
}
