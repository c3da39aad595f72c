#include "pipeline/engine_blocks.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "pipeline/block_meter.hpp"
#include "quant/convert.hpp"

namespace gradz {
namespace {

using kernels::cuda::BlockEngine;
using kernels::cuda::DecodedPiece;
using kernels::cuda::Piece;
using kernels::cuda::Quantized;

class EngineQuantizer final : public BlockQuantizer {
public:
    explicit EngineQuantizer(std::unique_ptr<BlockEngine> engine) : engine_(std::move(engine)) {}

    Result<Done> quantize(std::span<const PartInput> parts, StatsLevel level, CodedBlock& out,
                          std::span<PartResult> results) override {
        const Scheme& scheme = *parts[0].tensor->scheme;
        if (!scheme.quantizer->has_scales()) return casts_->quantize(parts, level, out, results);
        GRADZ_TRY(const auto quantized, run(parts));
        out.clear();
        std::size_t piece = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const std::size_t before = out.symbols().size(), end = ends_[i];
            for (; piece < end; ++piece) take(parts[i], piece, quantized, level, out, results[i]);
            if (level == StatsLevel::full)
                count_symbols(scheme.measure, out.symbols().subspan(before), results[i].sums);
        }
        return Done{};
    }

private:
    Result<Quantized> run(std::span<const PartInput> parts) {
        const Scheme& scheme = *parts[0].tensor->scheme;
        const DType dtype = parts[0].tensor->info->dtype;
        std::size_t bytes = 0;
        for (const auto& part : parts) bytes += part.bytes.size();
        GRADZ_TRY(std::byte * to, engine_->input(bytes));
        pieces_.clear(), ends_.clear();
        std::uint32_t begin = 0;
        for (const auto& part : parts) {
            assert(part.large.empty() == parts[0].large.empty());
            const std::uint64_t bucket = scheme.bucket(part.tensor->elements);
            for_each_piece({0, part.first, part.count}, bucket, [&](std::uint64_t first, std::uint64_t count) {
                const Scale given = part.large.empty() ? Scale{} : part.large[first / bucket];
                pieces_.push_back(
                    {first, begin, static_cast<std::uint32_t>(count), philox_key(part.tensor->key), given});
                begin += static_cast<std::uint32_t>(count);
            });
            ends_.push_back(pieces_.size());
            if (!part.bytes.empty()) std::memcpy(to, part.bytes.data(), part.bytes.size());
            to += part.bytes.size();
        }
        return engine_->quantize({float_type(dtype), scheme.quantizer->grid(), scheme.quantizer->scale_rule(dtype),
                                  scheme.quantizer->zero_symbol(), !parts[0].large.empty(), pieces_, begin});
    }

    void take(const PartInput& part, std::size_t index, const Quantized& quantized, StatsLevel level, CodedBlock& out,
              PartResult& result) {
        const Piece& piece = pieces_[index];
        const std::size_t width = size_of(part.tensor->info->dtype);
        const auto bytes = part.bytes.subspan((piece.first - part.first) * width, piece.count * width);
        const bool escaped = quantized.escaped[index] != 0;
        out.escaped.push_back(escaped);
        if (escaped) {
            out.escapes.insert(out.escapes.end(), bytes.begin(), bytes.end());
            result.output += bytes.size();
            return meter_.exact(part, bytes, true, level, result.sums);
        }
        const std::size_t symbol = part.tensor->scheme->quantizer->symbol_bytes();
        const auto symbols = quantized.symbols.subspan(piece.begin * symbol, piece.count * symbol);
        std::memcpy(out.add_symbols(symbols.size()), symbols.data(), symbols.size());
        out.coded.push_back(piece.count);
        out.scales.push_back(quantized.scales[index]);
        result.scale += sizeof(float);
        measure(part, piece, bytes, symbols, quantized.scales[index], level, result);
    }

    void measure(const PartInput& part, const Piece& piece, std::span<const std::byte> bytes,
                 std::span<const std::byte> symbols, float S, StatsLevel level, PartResult& result) {
        values_.resize(std::max<std::size_t>(values_.size(), piece.count));
        const std::span values(values_.data(), piece.count);
        if (level != StatsLevel::none)
            to_float32(*part.tensor->scheme->kernels, part.tensor->info->dtype, bytes, values);
        meter_.coded(part, piece.first, bytes, values, symbols, S, std::nullopt, level, result.sums);
    }

    std::unique_ptr<BlockEngine> engine_;
    std::unique_ptr<BlockQuantizer> casts_ = make_cpu_quantizer();
    std::vector<Piece> pieces_;
    std::vector<std::size_t> ends_;  // of the pieces of each part
    std::vector<float> values_;
    BlockMeter meter_;
};

class EngineDequantizer final : public BlockDequantizer {
public:
    explicit EngineDequantizer(std::unique_ptr<BlockEngine> engine) : engine_(std::move(engine)) {}

    Result<Done> restore(const SymbolBlock& block, std::span<std::byte> out) override {
        const Composition& quantizer = *block.scheme->quantizer;
        if (!quantizer.has_scales()) return casts_->restore(block, out);
        GRADZ_TRY([[maybe_unused]] auto checked, quantizer.check(block.symbols));
        GRADZ_TRY(std::byte* const to, engine_->input(block.symbols.size()));
        if (!block.symbols.empty()) std::memcpy(to, block.symbols.data(), block.symbols.size());
        const std::size_t width = size_of(block.dtype);
        list_pieces(block);
        const auto symbol = static_cast<std::uint32_t>(quantizer.symbol_bytes());
        GRADZ_TRY(const auto elements, engine_->decode({float_type(block.dtype), symbol, quantizer.values(), pieces_,
                                                        block.symbols.size() / symbol, out.size() / width}));
        if (!out.empty()) std::memcpy(out.data(), elements.data(), out.size());
        std::size_t begin = 0, escaped = 0;
        for (const auto& piece : block.pieces) {
            const std::size_t bytes = piece.count * width;
            if (piece.escaped) {
                std::memcpy(out.data() + begin, block.escapes.data() + escaped, bytes);
                escaped += bytes;
            }
            begin += bytes;
        }
        return Done{};
    }

private:
    void list_pieces(const SymbolBlock& block) {
        pieces_.clear();
        std::uint32_t symbols = 0, begin = 0;
        for (const auto& piece : block.pieces) {
            if (!piece.escaped) {
                pieces_.push_back({symbols, begin, piece.count, block.scales[pieces_.size()]});
                symbols += piece.count;
            }
            begin += piece.count;
        }
    }

    std::unique_ptr<BlockEngine> engine_;
    std::unique_ptr<BlockDequantizer> casts_ = make_cpu_dequantizer();
    std::vector<DecodedPiece> pieces_;
};

}  // namespace

std::unique_ptr<BlockQuantizer> make_engine_quantizer(std::unique_ptr<BlockEngine> engine) {
    return std::make_unique<EngineQuantizer>(std::move(engine));
}
std::unique_ptr<BlockDequantizer> make_engine_dequantizer(std::unique_ptr<BlockEngine> engine) {
    return std::make_unique<EngineDequantizer>(std::move(engine));
}

}  // namespace gradz
