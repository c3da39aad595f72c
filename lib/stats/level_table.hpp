// A table of levels as the statistics use it: how it is spaced, and how |v| / S finds its
// neighbours in it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/symbols.hpp"
#include "kernels/table.hpp"

namespace gradz {

enum class Spacing : std::uint8_t {
    any,
    doubling,  // magnitudes 2^(k - m) exactly
    even,      // magnitudes float32(k / m) or k; always with zero
};

class LevelTable {
public:
    LevelTable() = default;  // no levels: bits16, and whatever is no rounding onto levels

    // kind magnitudes: 0 = levels[0] < .. < levels[m], the sign is kept apart. kind table:
    // ascending, any signs. At least two levels, all finite. bits16: levels are ignored.
    LevelTable(std::span<const float> levels, SymbolKind kind);

    LevelTable(LevelTable&&) = default;  // what bucket() points to moves along; a copy would point to this
    LevelTable& operator=(LevelTable&&) = default;

    bool empty() const { return magnitudes_.empty() && levels_.empty(); }
    Spacing spacing() const { return spacing_; }

    // What is left when the sign is kept apart, ascending, without zero: l_1 .. l_m. Empty
    // for signed tables that are not symmetric.
    std::span<const double> magnitudes() const { return magnitudes_; }
    bool has_zero() const { return has_zero_; }

    // All levels that r lies between: 0 or -l_1, then l_1 .. l_m; or the whole signed table.
    // For even spacing k / m and not its float32.
    std::span<const double> levels() const { return levels_; }

    // All but y, n and bounded; pointers are into this object, or into what it was moved to. scale: S, normal and
    // positive.
    kernels::ErrorBucket bucket(float scale, float offset) const {
        kernels::ErrorBucket b = bucket_;
        b.reduction.S = scale, b.reduction.offset = offset;
        return b;
    }

private:
    void fold(std::span<const float> upper);  // l_1 .. l_m, has_zero_ is set
    void make_search();
    void make_bucket();

    std::vector<double> magnitudes_, levels_;
    std::optional<kernels::LevelTable> search_;  // any spacing: levels_ in float32
    std::vector<float> uppers_;                  // the neighbour above each
    bool has_zero_ = true;
    Spacing spacing_ = Spacing::any;
    kernels::ErrorBucket bucket_{};  // but for scale and offset
};

}  // namespace gradz
