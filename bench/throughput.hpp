// What the benchmarks of kernels and coders have in common.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace gradz::bench {

constexpr std::size_t kBucket = 512;

// Reports 10^9 bytes of float32 a second, `elements` of them an iteration, whatever is coded.
inline void count_float32(benchmark::State& state, std::size_t elements) {
    state.counters["GB/s"] = benchmark::Counter(static_cast<double>(elements * sizeof(float)) * 1e-9,
                                                benchmark::Counter::kIsIterationInvariantRate);
}

// Laplacian, as gradients are between a normal and their heavy tails. The same on every run.
inline std::vector<float> gradient(std::size_t n) {
    std::mt19937 gen(1);
    std::vector<float> x(n);
    for (float& v : x) {
        const double u = (static_cast<double>(gen()) + 0.5) * 0x1p-32;
        v = static_cast<float>(1e-3 * (u < 0.5 ? std::log(2 * u) : -std::log(2 - 2 * u)));
    }
    return x;
}

}  // namespace gradz::bench
