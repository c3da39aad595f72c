#include "quant/presets.hpp"

#include <algorithm>
#include <array>

namespace gradz {
namespace {

constexpr double kMaxBucket = 0x1p40;

constexpr Param kBits = {"bits", "4", "", 2, 8};
constexpr Param kBucket = {"bucket", "512", "tensor", 1, kMaxBucket};
constexpr Param kRounding = {"rounding", "stochastic", "stochastic|nearest"};

constexpr Param s(double lo, double hi) { return {"s", "", "", lo, hi, true, false, "bits"}; }

constexpr Param kNuqsgd[] = {
    {"bits", "4", "", 1, 8},              // 1 with zero=no alone
    s(0, 254),                            // levels inside (0, 1)
    {"p", "0.5", "", 0, 1, false, true},  // ratio of neighbours
    {"norm", "l2", "l2|linf"},
    kBucket,
    kRounding,
    {"zero", "yes", "yes|no"},
};
constexpr Param kQsgd[] = {kBits, s(1, 255), {"norm", "l2", "l2|linf"}, kBucket, kRounding};
constexpr Param kQsgdinf[] = {kBits, s(1, 255), {"norm", "linf", "linf"}, kBucket, kRounding};

constexpr Preset kPresets[] = {
    {{0, "none", Kind::quantizer, {}, "elements as they are, bit for bit"}, LevelRule::none},
    {{1, "nuqsgd", Kind::quantizer, kNuqsgd,
      "levels 1, p, p^2, .. of the norm (Ramezani-Kebrya et al., JMLR 22(114), 2021)"},
     LevelRule::powers,
     1},
    {{2, "qsgd", Kind::quantizer, kQsgd, "levels k/m of the norm (Alistarh et al., NIPS 2017)"}, LevelRule::uniform},
    {{3, "qsgdinf", Kind::quantizer, kQsgdinf, "qsgd by the largest magnitude (same paper, 4)"}, LevelRule::uniform},
    {{4, "fp16", Kind::quantizer, {}, "float16 to nearest even (IEEE 754 binary16)"}, LevelRule::f16},
    {{5, "bf16", Kind::quantizer, {}, "bfloat16 to nearest even: the upper half of float32"}, LevelRule::bf16},
};

constexpr auto kStages = [] {
    std::array<StageRow, std::size(kPresets)> rows{};
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = kPresets[i].stage;
    return rows;
}();

}  // namespace

std::span<const Preset> presets() { return kPresets; }
std::span<const StageRow> preset_stages() { return kStages; }

const Preset* find_preset(std::string_view name) {
    const auto at =
        std::find_if(std::begin(kPresets), std::end(kPresets), [&](const Preset& p) { return p.stage.name == name; });
    return at == std::end(kPresets) ? nullptr : at;
}

}  // namespace gradz
