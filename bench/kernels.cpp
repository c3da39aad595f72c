// GB/s of float32 input (or output) of one thread per target, the best of 7 runs, since
// others may share the machine: a tensor larger than L2 is walked bucket by bucket, each
// stage on the bucket while it is in L1, as the pipeline does.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/table.hpp"

using namespace gradz::kernels;

namespace {

constexpr std::size_t kBucket = 512, kElements = std::size_t{1} << 22;

template <class Work>
void measure(const char* what, Work work) {
    std::vector<double> seconds;
    for (int run = 0; run < 7; ++run) {
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < kElements; i += kBucket) work(i);
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::printf(" %s %.1f", what, kElements * sizeof(float) / *std::min_element(seconds.begin(), seconds.end()) * 1e-9);
}

// `count` levels p^j: magnitudes and zero, or both signs.
LevelTable powers(bool both_signs, int count, double p) {
    std::vector<float> levels(static_cast<std::size_t>(count));
    const int half = both_signs ? count / 2 : 0;
    for (int k = both_signs ? 0 : 1; k < count; ++k)
        levels[static_cast<std::size_t>(k)] =
            static_cast<float>(k < half ? -std::pow(p, k) : std::pow(p, count - 1 - k));
    return LevelTable(levels);
}

void measure_quantizers(const Kernels& k, const std::vector<float>& x, std::uint8_t* symbols) {
    const auto bucket = [&](std::size_t i) { return Bucket{&x[i], kBucket, i, {1, 2}, 0.02f}; };
    const auto row = [&](const char* what, Grid grid) {
        measure(what, [&](std::size_t i) { k.quantize(bucket(i), grid, symbols); });
        grid.nearest = true;
        measure("nearest", [&](std::size_t i) { k.quantize(bucket(i), grid, symbols); });
    };
    row("nuqsgd", {LevelKind::exponential, false, 7, 1, {}});
    row("qsgd", {LevelKind::uniform, false, 7, 1, {}});
    const LevelTable table8 = powers(false, 8, 0.6);
    row("table8", {LevelKind::magnitudes, false, 7, 1, table8.view()});
    const LevelTable signed16 = powers(true, 16, 0.6);
    row("signed16", {LevelKind::signed_table, false, 15, 1, signed16.view()});
    const LevelTable table32 = powers(false, 32, 0.8);
    row("table32", {LevelKind::magnitudes, false, 31, 1, table32.view()});
    const LevelTable table128 = powers(false, 128, 0.9);
    row("table128", {LevelKind::magnitudes, false, 127, 1, table128.view()});
    const LevelTable signed256 = powers(true, 256, 0.9);
    row("signed256", {LevelKind::signed_table, false, 255, 1, signed256.view()});
}

void measure_converters(const Kernels& k, std::vector<float> x, std::uint8_t* bytes) {
    float* y = x.data();
    measure("f16_from", [&](std::size_t i) { k.f16_from_f32(&x[i], kBucket, bytes); });
    measure("from_f16", [&](std::size_t) { k.f32_from_f16(bytes, kBucket, y); });
    measure("bf16_from", [&](std::size_t i) { k.bf16_from_f32(&x[i], kBucket, bytes); });
    measure("from_bf16", [&](std::size_t) { k.f32_from_bf16(bytes, kBucket, y); });
    measure("f64_from", [&](std::size_t i) { k.f64_from_f32(&x[i], kBucket, bytes); });
    measure("from_f64", [&](std::size_t) { k.f32_from_f64(bytes, kBucket, y); });
}

}  // namespace

int main() {
    std::vector<float> x(kElements);
    for (std::size_t i = 0; i < kElements; ++i) x[i] = std::sin(static_cast<float>(i * i % 10007)) * 1e-3f;
    std::vector<std::uint8_t> symbols(kBucket), bytes(8 * kBucket);
    std::vector<float> table(kMaxSymbols, 1.0f), y(kBucket);
    volatile double sink = 0;
    for (const Kernels* k : runnable()) {
        std::printf("%s:", k->target);
        const Grid nuqsgd{LevelKind::exponential, false, 7, 1, {}};
        measure("all", [&](std::size_t i) {
            const float S = static_cast<float>(std::sqrt(k->sum_squares(&x[i], kBucket)));
            k->quantize({&x[i], kBucket, i, {1, 2}, S}, nuqsgd, symbols.data());
            k->pack8(symbols.data(), kBucket, 4, bytes.data());
        });
        measure("norm", [&](std::size_t i) { sink = k->sum_squares(&x[i], kBucket); });
        measure("max", [&](std::size_t i) { sink = k->max_abs(&x[i], kBucket); });
        measure_quantizers(*k, x, symbols.data());
        for (int width : {3, 4, 8}) {
            measure("pack", [&](std::size_t) { k->pack8(symbols.data(), kBucket, width, bytes.data()); });
            measure("unpack", [&](std::size_t) { k->unpack8(bytes.data(), kBucket, width, symbols.data()); });
        }
        measure("decode",
                [&](std::size_t) { sink = k->decode8(symbols.data(), kBucket, table.data(), 0.02f, y.data()); });
        measure_converters(*k, x, bytes.data());
        std::printf("\n");
    }
}
