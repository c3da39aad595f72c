#include "pipeline/block_quantizer.hpp"

#include <algorithm>
#include <optional>

#include "quant/convert.hpp"
#include "stats/measure.hpp"

namespace gradz {
namespace {

class CpuQuantizer final : public BlockQuantizer {
public:
    Result<Done> quantize(std::span<const PartInput> parts, StatsLevel level, CodedBlock& out,
                          std::span<PartResult> results) override {
        out.clear();
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const PartInput& part = parts[i];
            const std::uint64_t bucket = part.tensor->scheme->bucket(part.tensor->elements);
            const std::size_t before = out.symbols().size();
            for_each_piece({0, part.first, part.count}, bucket, [&](std::uint64_t first, std::uint64_t count) {
                piece(part, first, count, level, out, results[i]);
            });
            if (level == StatsLevel::full)
                count_symbols(part.tensor->scheme->measure, out.symbols().subspan(before), results[i].sums);
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
        std::uint64_t flushed = 0;
        const auto values = floats(*scheme.kernels, dtype, bytes, flushed);
        Scale scale{1.0f, false};
        std::optional<double> norm2;
        if (!quantizer.has_scales()) scale.escaped = quantizer.cast_escapes(values, dtype);
        else if (!part.large.empty()) scale = part.large[first / scheme.bucket(part.tensor->elements)];
        else scale = scale_of(quantizer, values, flushed > 0, dtype, norm2);
        out.escaped.push_back(scale.escaped);
        if (scale.escaped) return escape(part, bytes, level, out, result);
        const std::size_t symbol_bytes = count * quantizer.symbol_bytes();
        std::byte* const symbols = out.add_symbols(symbol_bytes);
        quantizer.encode(values, first, philox_key(part.tensor->key), scale.S, symbols);
        out.coded.push_back(static_cast<std::uint32_t>(count));
        if (quantizer.has_scales()) out.scales.push_back(scale.S);
        result.scale += quantizer.has_scales() ? sizeof(float) : 0;
        meter_.coded(part, first, bytes, values, {symbols, symbol_bytes}, scale.S, norm2, level, result.sums);
    }

    static Scale scale_of(const Composition& quantizer, std::span<const float> values, bool vanished, DType dtype,
                          std::optional<double>& norm2) {
        const double norm = quantizer.norm_part(values);
        if (!quantizer.linf()) norm2 = norm;
        return quantizer.scale(norm, vanished, dtype);
    }

    // float32 is used where it lies if that is a place for floats: a copy would cost as much as the norm.
    std::span<const float> floats(const kernels::Kernels& kernels, DType dtype, std::span<const std::byte> bytes,
                                  std::uint64_t& flushed) {
        const std::size_t count = bytes.size() / size_of(dtype);
        if (dtype == DType::f32 && reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0)
            return {reinterpret_cast<const float*>(bytes.data()), count};
        values_.resize(std::max(values_.size(), count));
        flushed = to_float32(kernels, dtype, bytes, {values_.data(), count});
        return {values_.data(), count};
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
