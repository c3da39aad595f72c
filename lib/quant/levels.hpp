// From a quantizer's parameters to its levels.
#pragma once

#include <vector>

#include "core/error.hpp"
#include "kernels/kernels.hpp"
#include "quant/presets.hpp"
#include "quant/spec.hpp"

namespace gradz {

struct LevelSet {
    kernels::LevelKind kind;
    std::vector<float> levels;  // magnitudes [m + 1], levels[0] = 0, levels[m] = 1; or the signed table
};

// stage: keys and values as resolve() left them. m <= 255. The powers p^j are products in
// double, j ascending, each rounded to float32 once, so that no math library has a say;
// k / m is one division. Empty for rules without levels. Errc::invalid_argument if bits or
// s do not go with `zero`, or if a level is not normal or not below the next one: the
// message names the first such level from below.
Result<LevelSet> make_levels(const Preset& preset, const Stage& stage);

}  // namespace gradz
