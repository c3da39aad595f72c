// lib/pipeline/nonfinite.cpp: every pattern of 16 bits, the edges of the others.
#include "pipeline/nonfinite.hpp"

#include <doctest/doctest.h>

#include "support/tensor_facts.hpp"

using namespace gradz;
using namespace gradz::test;

TEST_CASE("all patterns of float16 and bfloat16") {
    for (const DType dtype : {DType::f16, DType::bf16}) {
        std::vector<std::uint16_t> all(65536);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
        const auto bytes = std::as_bytes(std::span(all));
        std::uint64_t found = 0;
        for (std::uint64_t at = find_nonfinite(bytes, dtype, 0); at < all.size();
             at = find_nonfinite(bytes, dtype, at + 1), ++found)
            CHECK_FALSE(std::isfinite(element_as_double(dtype, bytes.data() + 2 * at)));
        CHECK(found == (dtype == DType::f16 ? 2 * 1024 : 2 * 128));
        std::vector<std::byte> cleaned;
        CHECK(zero_nonfinite(bytes, dtype, cleaned) == found);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double v = element_as_double(dtype, bytes.data() + 2 * i);
            const auto now = load_as<std::uint16_t>(cleaned.data() + 2 * i);
            CHECK(now == (std::isfinite(v) ? all[i] : 0));
        }
    }
}

TEST_CASE("float32 and float64, unaligned, from any place") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> v64{1, 1.7e308, nan, -0.0, -inf, 5e-324, inf};
    const std::vector<float> v32{1, 3.4e38f, std::nanf(""), -0.0f, -HUGE_VALF, 1e-45f, HUGE_VALF};
    const auto check = [](DType dtype, std::span<const std::byte> values) {
        std::vector<std::byte> shifted(1 + values.size());
        std::copy(values.begin(), values.end(), shifted.begin() + 1);
        const auto bytes = std::span<const std::byte>(shifted).subspan(1);
        const std::uint64_t places[] = {2, 4, 6, 7};
        std::uint64_t from = 0;
        for (const auto place : places) {
            for (; from <= place; ++from) CHECK(find_nonfinite(bytes, dtype, from) == place);
        }
        std::vector<std::byte> cleaned;
        CHECK(zero_nonfinite(bytes, dtype, cleaned) == 3);
        CHECK(find_nonfinite(cleaned, dtype, 0) == 7);
        cleaned = {std::byte{9}};
        CHECK(zero_nonfinite(bytes.first(2 * size_of(dtype)), dtype, cleaned) == 0);
        CHECK(cleaned.size() == 1);  // left alone
    };
    check(DType::f64, std::as_bytes(std::span(v64)));
    check(DType::f32, std::as_bytes(std::span(v32)));
}
