// lib/kernels: every target does what the element functions say, byte for byte.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/quantize_element.hpp"
#include "support/gen.hpp"

using namespace gradz;
using kernels::Kernels;

namespace {

const std::size_t kLengths[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 65, 127, 128, 129, 511, 512, 1025};
constexpr kernels::PhiloxKey kKey{0x12345678, 0x9abcdef0};
using Bytes = std::vector<std::uint8_t>;

template <class Rule>
Bytes by_element(const kernels::Bucket& in, Rule rule, int* ties) {
    Bytes symbols(in.n);
    for (std::size_t i = 0; i < in.n; ++i) {
        const auto h = static_cast<std::int32_t>(philox_half(in.first + i, in.key, kernels::kUpperHalf));
        const auto l = static_cast<std::int32_t>(philox_half(in.first + i, in.key, kernels::kLowerHalf));
        const kernels::Step step = rule(kernels::scaled(in.x[i], in.S));
        *ties += h == step.hi && l < step.lo;
        symbols[i] = static_cast<std::uint8_t>(kernels::signed_symbol(in.x[i], step.k + rounds_up(step, h, l)));
    }
    return symbols;
}

void check_all(const kernels::Bucket& in, int m, int* ties) {
    const kernels::ExponentialHalf exponential{m, std::ldexp(1.0f, m - 1)};
    const Bytes nuq = by_element(in, exponential, ties);
    const Bytes uni = by_element(in, kernels::Uniform{static_cast<float>(m)}, ties);
    for (const Kernels* k : kernels::runnable()) {
        CAPTURE(k->target);
        Bytes got(in.n);
        k->quantize_exponential(in, m, got.data());
        CHECK(got == nuq);
        k->quantize_uniform(in, m, got.data());
        CHECK(got == uni);
    }
}

}  // namespace

TEST_CASE("targets are what they are called") {
    CHECK(std::string(kernels::runnable().front()->target) == "scalar");
    for (const Kernels* k : kernels::runnable()) {
        const std::string name = k->target;
        CHECK(k->vector_bytes == (name == "avx512" ? 64 : name == "avx2" ? 32 : 16));
        CHECK(*kernels::choose(name) == k);
        if (name != "scalar") CHECK((k->pack4 != kernels::runnable().front()->pack4));
    }
    CHECK(*kernels::choose("") == kernels::runnable().back());
    CHECK(kernels::choose("sse9").error().code == Errc::invalid_argument);
}

TEST_CASE("every target writes what the element functions say") {
    int ties = 0;
    for (std::size_t n : kLengths)
        for (float unit : {1.0f, 1e-30f, 1e-42f, 1e30f})  // 1e-42: subnormal inputs
            for (int m : {1, 7, 100, 127}) {
                CAPTURE(n);
                CAPTURE(unit);
                CAPTURE(m);
                const auto x = test::laplace(n, unit, 1);
                const float S = std::max(0x1p-126f, unit * std::sqrt(static_cast<float>(n)));
                check_all({x.data(), n, 5 * n + (std::uint64_t{1} << 36), kKey, S}, m, &ties);
            }
    const auto x = test::laplace(1 << 18, 1.0f, 2);  // long enough for ties that l decides
    check_all({x.data(), x.size(), 0, kKey, 20.0f}, 7, &ties);
    CHECK(ties > 0);
}

TEST_CASE("golden symbols: key 0, 0.875 between levels 6 and 7 rounds up below 0xc000") {
    const std::vector<float> x(128, 0.875f);
    for (const Kernels* k : kernels::runnable()) {
        Bytes s(128), first;
        k->quantize_exponential({x.data(), x.size(), 0, {0, 0}, 1.0f}, 7, s.data());
        for (std::size_t i = 0; i < 128; i += 16) first.push_back(s[i]);
        CHECK(first == Bytes{11, 13, 11, 11, 13, 13, 11, 13});
    }
}
