#include "quant/compose.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "quant/resolve.hpp"

namespace gradz {
namespace {

std::vector<float> make_levels(LevelRule rule, std::int32_t m) {
    std::vector<float> levels(static_cast<std::size_t>(m) + 1);
    for (std::int32_t k = 1; k <= m; ++k)
        levels[static_cast<std::size_t>(k)] = rule == LevelRule::uniform
                                                  ? static_cast<float>(k) / static_cast<float>(m)
                                                  : std::ldexp(1.0f, k - m);  // normal for m <= 127
    return levels;
}

}  // namespace

Composition compose(const Stage& stage, const kernels::Kernels& kernels) {
    const Preset* preset = find_preset(stage.name);
    assert(preset);
    const std::int32_t m = (1 << (static_cast<int>(number(stage, "bits")) - 1)) - 1;
    Composition c{&kernels,
                  preset->levels,
                  *stage.find("norm") == "linf",
                  m,
                  static_cast<std::uint32_t>(number(stage, "bucket")),
                  make_levels(preset->levels, m),
                  std::vector<float>(256)};
    for (std::size_t k = 1; k < c.levels.size(); ++k) c.table[2 * k - 1] = c.levels[k], c.table[2 * k] = -c.levels[k];
    return c;
}

Coded Composition::encode(std::span<const float> x, std::uint64_t first, kernels::PhiloxKey key,
                          std::span<std::uint8_t> symbols) const {
    assert(!x.empty() && x.size() == symbols.size());
    // The l2 norm of tiny numbers is exact in double, so S = 0 beside a non-zero input is
    // an underflow of the float32 alone; the double tells it from a bucket of zeros.
    const double norm =
        linf ? kernels->max_abs(x.data(), x.size()) : std::sqrt(kernels->sum_squares(x.data(), x.size()));
    const float S = static_cast<float>(norm);
    if (norm == 0) {
        std::fill(symbols.begin(), symbols.end(), std::uint8_t{0});
        return {0, false};
    }
    if (!(S >= std::numeric_limits<float>::min() && S <= std::numeric_limits<float>::max()))
        return {S, true};  // NaN fails both
    const kernels::Bucket in{x.data(), x.size(), first, key, S};
    (rule == LevelRule::uniform ? kernels->quantize_uniform : kernels->quantize_exponential)(in, m, symbols.data());
    return {S, false};
}

Result<Done> Composition::decode(std::span<const std::uint8_t> symbols, float scale, std::span<float> x) const {
    assert(symbols.size() == x.size());
    if (kernels->decode(symbols.data(), x.size(), table.data(), scale, x.data()) <= 2 * m) return Done{};
    const auto bad = std::find_if(symbols.begin(), symbols.end(), [&](int s) { return s > 2 * m; });
    return Error{Errc::corrupt, "symbol " + std::to_string(*bad) + " out of range",
                 "element " + std::to_string(bad - symbols.begin())};
}

}  // namespace gradz
