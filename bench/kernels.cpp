// kernel/target: GB/s of float32 input (or output) of one thread. A tensor larger than L2 is walked bucket by
// bucket, each stage on the bucket while it is in L1, as the pipeline does.
#include <functional>
#include <string>

#include "kernels/dispatch.hpp"
#include "kernels/table.hpp"
#include "throughput.hpp"

namespace gradz::bench {
namespace {

using namespace kernels;

constexpr std::size_t kElements = std::size_t{1} << 20;

struct Buffers {
    std::vector<float> x = gradient(kElements), y = std::vector<float>(kBucket);
    std::vector<float> table = std::vector<float>(kMaxSymbols, 1.0f);
    std::vector<std::uint8_t> symbols = std::vector<std::uint8_t>(kBucket),
                              bytes = std::vector<std::uint8_t>(8 * kBucket);
};

Buffers& buffers() {
    static Buffers all;
    return all;
}

// work(i): the bucket from element i on.
template <class Work>
void add(const std::string& kernel, const Kernels& k, Work work) {
    const std::string name = kernel + "/" + k.target;
    benchmark::RegisterBenchmark(name.c_str(), [work](benchmark::State& state) {
        for (auto _ : state) {
            for (std::size_t i = 0; i < kElements; i += kBucket) work(i);
            benchmark::ClobberMemory();
        }
        count_float32(state, kElements);
    });
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

void add_quantizer(const std::string& name, const Kernels& k, Grid grid) {
    for (const bool nearest : {false, true}) {
        grid.nearest = nearest;
        add(name + (nearest ? "_nearest" : ""), k, [&k, grid](std::size_t i) {
            k.quantize({&buffers().x[i], kBucket, i, {1, 2}, 0.02f}, grid, buffers().symbols.data());
        });
    }
}

void add_quantizers(const Kernels& k) {
    add_quantizer("quantize_nuqsgd", k, {LevelKind::exponential, false, 7, 1, {}});
    add_quantizer("quantize_qsgd", k, {LevelKind::uniform, false, 7, 1, {}});
    static const LevelTable table8 = powers(false, 8, 0.6), table32 = powers(false, 32, 0.8),
                            table128 = powers(false, 128, 0.9), signed16 = powers(true, 16, 0.6),
                            signed256 = powers(true, 256, 0.9);
    add_quantizer("quantize_table8", k, {LevelKind::magnitudes, false, 7, 1, table8.view()});
    add_quantizer("quantize_table32", k, {LevelKind::magnitudes, false, 31, 1, table32.view()});
    add_quantizer("quantize_table128", k, {LevelKind::magnitudes, false, 127, 1, table128.view()});
    add_quantizer("quantize_signed16", k, {LevelKind::signed_table, false, 15, 1, signed16.view()});
    add_quantizer("quantize_signed256", k, {LevelKind::signed_table, false, 255, 1, signed256.view()});
}

void add_symbols(const Kernels& k) {
    for (const int width : {1, 2, 3, 4, 5, 6, 7, 8}) {
        const std::string of = std::to_string(width);
        add("pack" + of, k,
            [&k, width](std::size_t) { k.pack8(buffers().symbols.data(), kBucket, width, buffers().bytes.data()); });
        add("unpack" + of, k,
            [&k, width](std::size_t) { k.unpack8(buffers().bytes.data(), kBucket, width, buffers().symbols.data()); });
    }
    add("decode", k, [&k](std::size_t) {
        benchmark::DoNotOptimize(
            k.decode8(buffers().symbols.data(), kBucket, buffers().table.data(), 0.02f, buffers().y.data()));
    });
}

void add_converters(const Kernels& k) {
    static Buffers& b = buffers();
    add("convert_f16_from", k, [&k](std::size_t i) { k.f16_from_f32(&b.x[i], kBucket, b.bytes.data()); });
    add("convert_from_f16", k, [&k](std::size_t) { k.f32_from_f16(b.bytes.data(), kBucket, b.y.data()); });
    add("convert_bf16_from", k, [&k](std::size_t i) { k.bf16_from_f32(&b.x[i], kBucket, b.bytes.data()); });
    add("convert_from_bf16", k, [&k](std::size_t) { k.f32_from_bf16(b.bytes.data(), kBucket, b.y.data()); });
    add("convert_f64_from", k, [&k](std::size_t i) { k.f64_from_f32(&b.x[i], kBucket, b.bytes.data()); });
    add("convert_from_f64", k, [&k](std::size_t) { k.f32_from_f64(b.bytes.data(), kBucket, b.y.data()); });
}

// What `nuqsgd:bits=4+fixed` does to a bucket, and its scale alone.
void add_scales(const Kernels& k) {
    add("all", k, [&k](std::size_t i) {
        Buffers& b = buffers();
        const float S = static_cast<float>(std::sqrt(k.sum_squares(&b.x[i], kBucket)));
        k.quantize({&b.x[i], kBucket, i, {1, 2}, S}, {LevelKind::exponential, false, 7, 1, {}}, b.symbols.data());
        k.pack8(b.symbols.data(), kBucket, 4, b.bytes.data());
    });
    add("norm", k, [&k](std::size_t i) { benchmark::DoNotOptimize(k.sum_squares(&buffers().x[i], kBucket)); });
    add("max", k, [&k](std::size_t i) { benchmark::DoNotOptimize(k.max_abs(&buffers().x[i], kBucket)); });
}

const bool registered = [] {
    for (const Kernels* k : runnable()) {
        add_scales(*k);
        add_quantizers(*k);
        add_symbols(*k);
        add_converters(*k);
    }
    return true;
}();

}  // namespace
}  // namespace gradz::bench
