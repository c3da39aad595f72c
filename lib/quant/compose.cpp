#include "quant/compose.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "kernels/convert_element.hpp"
#include "quant/convert.hpp"
#include "quant/resolve.hpp"

namespace gradz {
namespace {

using kernels::LevelKind;

// The level of each symbol.
std::vector<float> values_of(const LevelSet& set) {
    std::vector<float> values(kernels::kMaxSymbols);
    if (set.kind == LevelKind::signed_table) {
        std::copy(set.levels.begin(), set.levels.end(), values.begin());
        return values;
    }
    for (std::size_t k = 1; k < set.levels.size(); ++k)
        values[2 * k - 1] = set.levels[k], values[2 * k] = -set.levels[k];
    return values;
}

bool has_table(LevelKind kind) { return kind == LevelKind::magnitudes || kind == LevelKind::signed_table; }

const std::uint8_t* bytes_of(const std::byte* b) { return reinterpret_cast<const std::uint8_t*>(b); }
std::uint8_t* bytes_of(std::byte* b) { return reinterpret_cast<std::uint8_t*>(b); }

std::uint32_t symbol_at(std::span<const std::byte> symbols, std::size_t i, std::size_t width) {
    std::uint16_t symbol = 0;
    std::memcpy(&symbol, symbols.data() + i * width, width);
    return symbol;
}

}  // namespace

Composition::Composition(const kernels::Kernels& kernels, LevelRule rule, LevelSet set)
    : kernels_(&kernels), rule_(rule), set_(std::move(set)) {
    if (set_.levels.empty()) return;
    const bool is_signed = set_.kind == LevelKind::signed_table;
    kind_ = is_signed ? SymbolKind::table : SymbolKind::magnitudes;
    alphabet_ = static_cast<std::uint32_t>(is_signed ? set_.levels.size() : 2 * set_.levels.size() - 1);
    values_ = values_of(set_);
    if (has_table(set_.kind)) table_.emplace(set_.levels);
}

Result<Composition> Composition::make(const Stage& stage, const kernels::Kernels& kernels) {
    const Preset* preset = find_preset(stage.name);
    if (!preset || preset->levels == LevelRule::none)
        return Error{Errc::invalid_argument, "'" + stage.name + "' does not quantize", "spec"};
    GRADZ_TRY(auto set, make_levels(*preset, stage));
    Composition out(kernels, preset->levels, std::move(set));
    if (!out.has_scales()) return out;
    out.bucket_ = *stage.find("bucket") == "tensor" ? 0 : static_cast<std::uint64_t>(number(stage, "bucket"));
    out.linf_ = *stage.find("norm") == "linf";
    out.nearest_ = *stage.find("rounding") == "nearest";
    return out;
}

std::uint64_t Composition::bucket_of(std::uint64_t numel) const {
    return bucket_ ? bucket_ : std::max<std::uint64_t>(numel, 1);
}

double Composition::norm_part(std::span<const float> x) const {
    return linf_ ? kernels_->max_abs(x.data(), x.size()) : kernels_->sum_squares(x.data(), x.size());
}

double Composition::norm_join(double left, double right) const {
    if (!linf_) return left + right;
    return std::isnan(left) || left > right ? left : right;
}

kernels::ScaleRule Composition::scale_rule(DType out) const { return {linf_, float_type(out), set_.levels.back()}; }

Scale Composition::scale(double norm, bool vanished, DType out) const {
    return kernels::bucket_scale(norm, vanished, scale_rule(out));
}

bool Composition::cast_escapes(std::span<const float> x, DType out) const {
    assert(!has_scales());
    const DType as = rule_ == LevelRule::f16 ? DType::f16 : DType::bf16;
    const float top = kernels_->max_abs(x.data(), x.size());  // casts are monotonic: one element decides
    if (!finite_as(as, top)) return true;
    const float back =
        as == DType::f16 ? kernels::f16_value(kernels::f16_bits(top)) : kernels::bf16_value(kernels::bf16_bits(top));
    return !finite_as(out, back);
}

kernels::Grid Composition::grid() const {
    return {set_.kind, nearest_, static_cast<std::int32_t>(set_.levels.size()) - 1,
            static_cast<std::int32_t>(symbol_bytes()), table_ ? table_->view() : kernels::TableView{}};
}

// 0, or the least positive one of the signed levels, of which there are at most 256.
std::uint32_t Composition::zero_symbol() const {
    return kind_ == SymbolKind::table ? static_cast<std::uint32_t>(set_.levels.size() / 2) : 0;
}

void Composition::encode(std::span<const float> x, std::uint64_t first, kernels::PhiloxKey key, float S,
                         std::byte* symbols) const {
    if (rule_ == LevelRule::f16) return kernels_->f16_from_f32(x.data(), x.size(), bytes_of(symbols));
    if (rule_ == LevelRule::bf16) return kernels_->bf16_from_f32(x.data(), x.size(), bytes_of(symbols));
    if (S == 0)  // a symbol other than 0 has one byte
        return (void)std::memset(symbols, static_cast<int>(zero_symbol()), x.size() * symbol_bytes());
    kernels_->quantize({x.data(), x.size(), first, key, S}, grid(), bytes_of(symbols));
}

Result<Done> Composition::decode(std::span<const std::byte> symbols, float S, std::span<float> x) const {
    assert(symbols.size() == x.size() * symbol_bytes());
    const std::uint8_t* from = bytes_of(symbols.data());
    if (rule_ == LevelRule::f16) return kernels_->f32_from_f16(from, x.size(), x.data()), Done{};
    if (rule_ == LevelRule::bf16) return kernels_->f32_from_bf16(from, x.size(), x.data()), Done{};
    const auto decode_by = symbol_bytes() == 1 ? kernels_->decode8 : kernels_->decode16;
    const std::int32_t top = decode_by(from, x.size(), values_.data(), S, x.data());
    if (x.empty() || static_cast<std::uint32_t>(top) < alphabet_) return Done{};
    return out_of_range(symbols);
}

std::optional<double> Composition::squared_error(std::span<const float> x, std::span<const std::byte> symbols,
                                                 float S) const {
    constexpr std::uint32_t kFew = 16;
    if (alphabet_ > kFew) return std::nullopt;
    return kernels_->error2_few(x.data(), bytes_of(symbols.data()), x.size(), values_.data(), S);
}

Result<Done> Composition::check(std::span<const std::byte> symbols) const {
    std::uint32_t top = 0;
    if (symbol_bytes() == 1) {
        for (const std::byte b : symbols) top = std::max(top, static_cast<std::uint32_t>(b));
    } else {
        for (std::size_t i = 0; i < symbols.size() / 2; ++i) top = std::max(top, symbol_at(symbols, i, 2));
    }
    if (top < alphabet_) return Done{};
    return out_of_range(symbols);
}

Error Composition::out_of_range(std::span<const std::byte> symbols) const {
    std::size_t i = 0;
    while (symbol_at(symbols, i, symbol_bytes()) < alphabet_) ++i;
    return {Errc::corrupt, "symbol " + std::to_string(symbol_at(symbols, i, symbol_bytes())) + " out of range",
            "element " + std::to_string(i)};
}

}  // namespace gradz
