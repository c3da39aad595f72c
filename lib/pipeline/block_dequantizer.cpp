#include "pipeline/block_dequantizer.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "quant/convert.hpp"

namespace gradz {
namespace {

class CpuDequantizer final : public BlockDequantizer {
public:
    Result<Done> restore(const SymbolBlock& block, std::span<std::byte> out) override {
        const Composition& quantizer = *block.scheme->quantizer;
        const std::size_t width = size_of(block.dtype), symbol = quantizer.symbol_bytes();
        std::byte* to = out.data();
        std::size_t at = 0, coded = 0, escaped = 0;
        for (const auto& piece : block.pieces) {
            const std::size_t bytes = piece.count * width;
            if (piece.escaped) {
                std::memcpy(to, block.escapes.data() + escaped, bytes);
                escaped += bytes;
            } else {
                values_.resize(std::max<std::size_t>(values_.size(), piece.count));
                const float scale = block.scales.empty() ? 1.0f : block.scales[coded];
                const std::span values(values_.data(), piece.count);
                const auto symbols = block.symbols.subspan(at, piece.count * symbol);
                GRADZ_TRY([[maybe_unused]] auto done, quantizer.decode(symbols, scale, values));
                from_float32(*block.scheme->kernels, block.dtype, values, {to, bytes});
                at += symbols.size();
                ++coded;
            }
            to += bytes;
        }
        return Done{};
    }

private:
    std::vector<float> values_;
};

}  // namespace

std::unique_ptr<BlockDequantizer> make_cpu_dequantizer() { return std::make_unique<CpuDequantizer>(); }

}  // namespace gradz
