// coder/scheme/bits/direction: GB/s of float32 of one thread, a block of 2^18 elements in buckets of 512,
// for every coder of the registry. qsgdinf stands for symbols that are dense and nearly uniform.
#include <memory>
#include <string>

#include "coder/coder.hpp"
#include "kernels/dispatch.hpp"
#include "throughput.hpp"

namespace gradz::bench {
namespace {

constexpr std::size_t kElements = std::size_t{1} << 18;

struct Block {
    std::uint32_t alphabet;
    std::vector<std::uint32_t> buckets;
    std::vector<std::byte> symbols;
    std::vector<float> scales;

    BlockShape shape() const { return {SymbolKind::magnitudes, alphabet, buckets}; }
};

Block quantized(kernels::LevelKind kind, int bits) {
    const kernels::Kernels& k = *kernels::runnable().back();
    const std::int32_t top = (1 << (bits - 1)) - 1;
    Block out{static_cast<std::uint32_t>(2 * top + 1), {}, std::vector<std::byte>(kElements), {}};
    const std::vector<float> x = gradient(kElements);
    for (std::size_t i = 0; i < kElements; i += kBucket) {
        const float S = kind == kernels::LevelKind::uniform
                            ? k.max_abs(&x[i], kBucket)
                            : static_cast<float>(std::sqrt(k.sum_squares(&x[i], kBucket)));
        k.quantize({&x[i], kBucket, i, {1, 2}, S}, {kind, false, top, 1, {}},
                   reinterpret_cast<std::uint8_t*>(out.symbols.data() + i));
        out.buckets.push_back(kBucket), out.scales.push_back(S);
    }
    return out;
}

void encode(benchmark::State& state, const Coder& coder, const Block& block) {
    std::vector<std::byte> code;
    for (auto _ : state) {
        code.clear();
        if (!coder.encode(block.shape(), block.symbols, block.scales, code))
            return state.SkipWithError("encode failed");
        benchmark::DoNotOptimize(code.data());
    }
    count_float32(state, kElements);
    state.counters["bits"] = static_cast<double>(8 * code.size()) / kElements;
}

void decode(benchmark::State& state, const Coder& coder, const Block& block) {
    std::vector<std::byte> code, symbols(block.symbols.size());
    std::vector<float> scales(block.scales.size());
    if (!coder.encode(block.shape(), block.symbols, block.scales, code)) return state.SkipWithError("encode failed");
    for (auto _ : state)
        if (!coder.decode(block.shape(), code, symbols, scales)) return state.SkipWithError("decode failed");
    if (symbols != block.symbols) state.SkipWithError("other symbols came back");
    count_float32(state, kElements);
}

const bool registered = [] {
    for (const StageRow& row : coder_stages())
        for (const auto kind : {kernels::LevelKind::exponential, kernels::LevelKind::uniform})
            for (const int bits : {2, 3, 4, 8}) {
                const std::shared_ptr<const Coder> coder = make_coder(row.name, {});
                const auto block = std::make_shared<const Block>(quantized(kind, bits));
                const std::string name = std::string(row.name) +
                                         (kind == kernels::LevelKind::uniform ? "/qsgdinf/" : "/nuqsgd/") +
                                         std::to_string(bits);
                benchmark::RegisterBenchmark((name + "/encode").c_str(),
                                             [=](benchmark::State& s) { encode(s, *coder, *block); });
                benchmark::RegisterBenchmark((name + "/decode").c_str(),
                                             [=](benchmark::State& s) { decode(s, *coder, *block); });
            }
    return true;
}();

}  // namespace
}  // namespace gradz::bench
