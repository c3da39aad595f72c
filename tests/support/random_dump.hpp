// Tensors with something of everything that quantizers have to cope with.
#pragma once

#include <random>

#include "support/dumps.hpp"
#include "support/plain_codec.hpp"

namespace gradz::test {

inline std::uint64_t below(std::mt19937_64& gen, std::uint64_t n) { return gen() % n; }

// Laplace values whose scale changes every few hundred elements, zeros of both signs, and,
// if `wild`, now and then NaN, infinity, the smallest and the largest of the type.
inline double random_value(std::mt19937_64& gen, double unit, bool wild) {
    const double u = static_cast<double>(gen() >> 11) * 0x1p-53, sign = gen() & 1 ? 1 : -1;
    if (wild && below(gen, 700) == 0) {
        const double odd[] = {std::numeric_limits<double>::quiet_NaN(),
                              HUGE_VAL,
                              1e300,
                              65519,
                              65521,
                              3.39e38,
                              0x1p-149,
                              0x1p-24,
                              1e-320,
                              0x1p-126};
        return sign * odd[below(gen, std::size(odd))];
    }
    return below(gen, 20) == 0 ? sign * 0.0 : -sign * unit * std::log(1 - u);
}

inline Bytes random_elements(DType dtype, std::uint64_t n, std::mt19937_64& gen, bool wild) {
    Bytes bytes(n * size_of(dtype));
    double unit = 1e-3;
    for (std::uint64_t i = 0, until = 0; i < n; ++i) {
        if (i == until) {
            until += 100 + below(gen, 900);
            unit = below(gen, 12) == 0 ? 0 : std::ldexp(1, -static_cast<int>(below(gen, 14)));
            if (wild && below(gen, 9) == 0 && dtype != DType::f16) unit = below(gen, 2) == 0 ? 0x1p-140 : 0x1p120;
        }
        std::byte* to = bytes.data() + i * size_of(dtype);
        if (!quantizable(dtype)) {
            for (std::size_t b = 0; b < size_of(dtype); ++b) to[b] = static_cast<std::byte>(below(gen, 5));
            continue;
        }
        const double v = random_value(gen, unit, wild);
        if (dtype == DType::f64) std::memcpy(to, &v, sizeof v);
        else plain_store(dtype, static_cast<float>(v), to);
    }
    return bytes;
}

inline void add_random(MemoryDump& dump, DType dtype, std::uint64_t n, std::mt19937_64& gen, bool wild) {
    const std::string name = "layer" + std::to_string(dump.tensors().size());
    TensorInfo info{name, {n}, dtype, below(gen, 3), below(gen, 3)};
    if (n % 2 == 0) info.shape = {2, n / 2};
    dump.add(info, random_elements(dtype, n, gen, wild));
}

}  // namespace gradz::test
