#include "pipeline/block_quantizer.hpp"

#include <algorithm>

#include "quant/convert.hpp"

namespace gradz {
namespace {

kernels::PhiloxKey philox_key(std::uint64_t key) {
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

class CpuQuantizer final : public BlockQuantizer {
public:
    Result<Done> quantize(std::span<const PartInput> parts, StatsLevel level, CodedBlock& out,
                          std::span<PartResult> results) override {
        out.clear();
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const PartInput& part = parts[i];
            const std::uint64_t bucket = part.tensor->scheme->bucket(part.tensor->elements);
            for_each_piece({0, part.first, part.count}, bucket, [&](std::uint64_t first, std::uint64_t count) {
                piece(part, first, count, level, out, results[i]);
            });
        }
        return Done{};
    }

private:
    void piece(const PartInput& part, std::uint64_t first, std::uint64_t count, StatsLevel level, CodedBlock& out,
               PartResult& result) {
        const Scheme& scheme = *part.tensor->scheme;
        const Composition& quantizer = *scheme.quantizer;
        const DType dtype = part.tensor->info->dtype;
        const std::size_t width = size_of(dtype);
        const auto bytes = part.bytes.subspan((first - part.first) * width, count * width);
        values_.resize(std::max<std::size_t>(values_.size(), count));
        const std::span values(values_.data(), count);
        const std::uint64_t flushed = to_float32(*scheme.kernels, dtype, bytes, values);
        Scale scale{1.0f, false};
        if (!quantizer.has_scales()) scale.escaped = quantizer.cast_escapes(values, dtype);
        else if (!part.large.empty()) scale = part.large[first / scheme.bucket(part.tensor->elements)];
        else scale = quantizer.scale(quantizer.norm_part(values), flushed > 0, dtype);
        out.escaped.push_back(scale.escaped);
        if (scale.escaped) return escape(part, bytes, level, out, result);
        const std::size_t symbol_bytes = count * quantizer.symbol_bytes();
        std::byte* const symbols = out.add_symbols(symbol_bytes);
        quantizer.encode(values, first, philox_key(part.tensor->key), scale.S, symbols);
        out.coded.push_back(static_cast<std::uint32_t>(count));
        if (quantizer.has_scales()) out.scales.push_back(scale.S);
        result.scale += quantizer.has_scales() ? sizeof(float) : 0;
        meter_.coded(part, first, bytes, values, {symbols, symbol_bytes}, scale.S, level, result.sums);
    }

    void escape(const PartInput& part, std::span<const std::byte> bytes, StatsLevel level, CodedBlock& out,
                PartResult& result) {
        out.escapes.insert(out.escapes.end(), bytes.begin(), bytes.end());
        result.output += bytes.size();
        meter_.exact(part, bytes, true, level, result.sums);
    }

    std::vector<float> values_;
    BlockMeter meter_;
};

}  // namespace

std::unique_ptr<BlockQuantizer> make_cpu_quantizer() { return std::make_unique<CpuQuantizer>(); }

}  // namespace gradz
