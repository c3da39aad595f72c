// One number of a report.
#pragma once

#include <cmath>
#include <optional>

namespace gradz {

using Figure = std::optional<double>;

// Nothing for NaN and infinity: reports print those as null.
inline Figure finite(double x) { return std::isfinite(x) ? Figure(x) : std::nullopt; }

}  // namespace gradz
