// GB/s of float32 input of one thread per target, medians of 5: a tensor larger than L2 is
// walked bucket by bucket, each stage on the bucket while it is in L1, as the pipeline does.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "kernels/dispatch.hpp"

using namespace gradz::kernels;

namespace {

constexpr std::size_t kBucket = 512, kElements = std::size_t{1} << 22;

template <class Work>
double gigabytes_per_second(Work work) {
    std::vector<double> seconds;
    for (int run = 0; run < 5; ++run) {
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < kElements; i += kBucket) work(i);
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + 2, seconds.end());
    return kElements * sizeof(float) / seconds[2] * 1e-9;
}

}  // namespace

int main() {
    std::vector<float> x(kElements);
    for (std::size_t i = 0; i < kElements; ++i) x[i] = std::sin(static_cast<float>(i * i % 10007)) * 1e-3f;
    std::vector<std::uint8_t> symbols(kBucket), packed(kElements / 2);
    volatile double sink = 0;
    std::printf("%-8s %8s %8s %8s %8s %8s\n", "target", "norm", "nuqsgd", "qsgd", "pack4", "all");
    for (const Kernels* k : runnable()) {
        const auto bucket = [&](std::size_t i, float S) { return Bucket{&x[i], kBucket, i, {1, 2}, S}; };
        const auto all = [&](std::size_t i) {
            const float S = static_cast<float>(std::sqrt(k->sum_squares(&x[i], kBucket)));
            k->quantize_exponential(bucket(i, S), 7, symbols.data());
            k->pack4(symbols.data(), kBucket, &packed[i / 2]);
        };
        const double norm = gigabytes_per_second([&](auto i) { sink = k->sum_squares(&x[i], kBucket); });
        const double nuq =
            gigabytes_per_second([&](auto i) { k->quantize_exponential(bucket(i, 0.02f), 7, symbols.data()); });
        const double uni =
            gigabytes_per_second([&](auto i) { k->quantize_uniform(bucket(i, 0.02f), 7, symbols.data()); });
        const double pack = gigabytes_per_second([&](auto i) { k->pack4(symbols.data(), kBucket, &packed[i / 2]); });
        std::printf("%-8s %8.1f %8.1f %8.1f %8.1f %8.1f\n", k->target, norm, nuq, uni, pack, gigabytes_per_second(all));
    }
}
