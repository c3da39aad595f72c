#include "quant/levels.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include "quant/resolve.hpp"

namespace gradz {
namespace {

using kernels::LevelKind;

Error bad(const std::string& what) { return {Errc::invalid_argument, what, "spec"}; }

std::string text_of(float x) {
    char out[32];
    return {out, std::to_chars(out, out + sizeof out, x).ptr};
}

// Non-zero magnitudes that `bits` or `s` ask for.
Result<std::int32_t> count_magnitudes(const Preset& preset, const Stage& stage, bool with_zero) {
    if (const std::string* s = stage.find("s")) {
        if (!with_zero) return bad("s = " + *s + " counts levels beside zero; with zero=no give bits");
        return static_cast<std::int32_t>(number(stage, "s")) + preset.beyond_s;
    }
    const auto bits = static_cast<std::int32_t>(number(stage, "bits"));
    if (!with_zero) return 1 << (bits - 1);
    if (bits < 2) return bad("bits = 1, want 2..8 with zero=yes");
    return (1 << (bits - 1)) - 1;
}

// 0 and p^(m-1), .., p, 1.
std::vector<float> powers(double p, std::int32_t m) {
    std::vector<float> levels(static_cast<std::size_t>(m) + 1);
    double power = 1;
    for (std::size_t k = levels.size(); --k > 0; power *= p) levels[k] = static_cast<float>(power);
    return levels;
}

std::vector<float> uniform(std::int32_t m) {
    std::vector<float> levels(static_cast<std::size_t>(m) + 1);
    for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = static_cast<float>(k) / static_cast<float>(m);
    return levels;
}

std::vector<float> both_signs(const std::vector<float>& magnitudes) {
    std::vector<float> table;
    for (std::size_t k = magnitudes.size(); --k > 0;) table.push_back(-magnitudes[k]);
    table.insert(table.end(), magnitudes.begin() + 1, magnitudes.end());
    return table;
}

Result<Done> check_magnitudes(const std::vector<float>& levels) {
    for (std::size_t k = 1; k < levels.size(); ++k) {
        const std::string name = "level " + std::to_string(k) + " of " + std::to_string(levels.size() - 1) + " ";
        if (!std::isnormal(levels[k])) return bad(name + "(" + text_of(levels[k]) + ") is not a normal float32");
        if (levels[k] <= levels[k - 1])
            return bad(name + "(" + text_of(levels[k]) + ") equals the one below as float32");
    }
    return Done{};
}

}  // namespace

Result<LevelSet> make_levels(const Preset& preset, const Stage& stage) {
    if (preset.levels != LevelRule::powers && preset.levels != LevelRule::uniform)
        return LevelSet{LevelKind::uniform, {}};
    const std::string* zero = stage.find("zero");
    const bool with_zero = !zero || *zero == "yes";
    GRADZ_TRY(const auto m, count_magnitudes(preset, stage, with_zero));
    if (preset.levels == LevelRule::uniform) return LevelSet{LevelKind::uniform, uniform(m)};
    const double p = number(stage, "p");
    auto magnitudes = powers(p, m);
    GRADZ_TRY([[maybe_unused]] const auto checked, check_magnitudes(magnitudes));
    if (!with_zero) return LevelSet{LevelKind::signed_table, both_signs(magnitudes)};
    return LevelSet{p == 0.5 ? LevelKind::exponential : LevelKind::magnitudes, std::move(magnitudes)};
}

}  // namespace gradz
