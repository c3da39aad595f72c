#include "quant/presets.hpp"

#include <algorithm>
#include <array>

namespace gradz {
namespace {

constexpr double kMaxBucket = 1u << 24;

constexpr Param kNuqsgd[] = {
    {"bits", "4", "", 2, 8},
    {"p", "0.5", "", 0.5, 0.5, false},
    {"norm", "l2", "l2|linf"},
    {"bucket", "512", "", 1, kMaxBucket},
    {"rounding", "stochastic", "stochastic"},
    {"zero", "yes", "yes"},
};
constexpr Param kQsgd[] = {
    {"bits", "4", "", 2, 8},
    {"norm", "l2", "l2|linf"},
    {"bucket", "512", "", 1, kMaxBucket},
    {"rounding", "stochastic", "stochastic"},
};
constexpr Param kQsgdinf[] = {
    {"bits", "4", "", 2, 8},
    {"norm", "linf", "linf"},
    {"bucket", "512", "", 1, kMaxBucket},
    {"rounding", "stochastic", "stochastic"},
};

constexpr Preset kPresets[] = {
    {{1, "nuqsgd", Kind::quantizer, kNuqsgd,
      "levels 1, 1/2, 1/4, .. of the norm (Ramezani-Kebrya et al., JMLR 22(114), 2021)"},
     LevelRule::exponential_half},
    {{2, "qsgd", Kind::quantizer, kQsgd, "levels k/m of the norm (Alistarh et al., NIPS 2017)"}, LevelRule::uniform},
    {{3, "qsgdinf", Kind::quantizer, kQsgdinf, "qsgd by the largest magnitude (same paper, 4)"}, LevelRule::uniform},
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
