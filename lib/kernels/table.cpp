#include "kernels/table.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/element.hpp"

namespace gradz::kernels {
namespace {

constexpr std::int32_t kMaxCells = 2048;  // 4 KiB of starts at most, next to the tables in L1

}  // namespace

LevelTable::LevelTable(std::span<const float> levels)
    : levels_(kMaxLevels + 1, std::numeric_limits<float>::infinity()), weights_(kMaxLevels) {
    assert(levels.size() >= 2 && levels.size() <= kMaxLevels);
    std::copy(levels.begin(), levels.end(), levels_.begin());
    for (std::size_t k = 0; k + 1 < levels.size(); ++k)
        weights_[k] = static_cast<float>(1 / (static_cast<double>(levels[k + 1]) - static_cast<double>(levels[k])));
    // The finest cells that are few enough; levels of one ratio p then have one each.
    std::int32_t first = to_bits(std::numeric_limits<float>::max());
    for (const float level : levels)
        if (level != 0) first = std::min(first, to_bits(std::abs(level)));
    const std::int32_t last = to_bits(std::max(-levels.front(), levels.back()));
    while ((last >> shift_) - (first >> shift_) >= kMaxCells) ++shift_;
    low_ = first >> shift_;
    cells_ = (last >> shift_) - low_ + 1;
    cut_cells(levels.size());
}

void LevelTable::cut_cells(std::size_t count) {
    const auto first = levels_.begin(), last = first + static_cast<std::ptrdiff_t>(count);
    const auto place = [&](float r) {  // the largest k with levels[k] <= r, 0 below all
        return static_cast<std::int32_t>(std::max<std::ptrdiff_t>(std::upper_bound(first, last, r) - first - 1, 0));
    };
    const bool is_signed = *first < 0;
    start_.resize(static_cast<std::size_t>(is_signed ? 2 * cells_ : cells_));
    for (std::int32_t cell = 0; cell < cells_; ++cell) {
        const float near = cell == 0 ? 0.0f : from_bits((low_ + cell) << shift_);
        const float far = from_bits(((low_ + cell + 1) << shift_) - 1);
        start_[static_cast<std::size_t>(cell)] = static_cast<std::uint8_t>(place(near));
        reach_ = std::max(reach_, place(far) - place(near));
        if (!is_signed) continue;
        start_[static_cast<std::size_t>(cells_ + cell)] = static_cast<std::uint8_t>(place(-far));
        reach_ = std::max(reach_, place(-near) - place(-far));
    }
}

}  // namespace gradz::kernels
