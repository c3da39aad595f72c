#include "stats/level_table.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gradz {
namespace {

bool symmetric(std::span<const float> levels) {
    for (std::size_t i = 0; i < levels.size(); ++i)
        if (levels[i] != -levels[levels.size() - 1 - i]) return false;
    return true;
}

// upper: l_1 .. l_m
bool doubling(std::span<const float> upper) {
    const int m = static_cast<int>(upper.size());
    for (int k = 1; k <= m; ++k)
        if (upper[static_cast<std::size_t>(k) - 1] != std::ldexp(1.0f, k - m)) return false;
    return true;
}

bool even(std::span<const float> upper) {
    const auto m = static_cast<float>(upper.size());
    const float unit = upper.back() == m ? 1.0f : m;
    for (std::size_t k = 1; k <= upper.size(); ++k)
        if (upper[k - 1] != static_cast<float>(k) / unit) return false;
    return true;
}

}  // namespace

LevelTable::LevelTable(std::span<const float> levels, SymbolKind kind) {
    if (kind == SymbolKind::bits16) return;
    assert(levels.size() >= 2);
    if (kind == SymbolKind::magnitudes) {
        fold(levels.subspan(1));
    } else if (symmetric(levels)) {
        has_zero_ = levels.size() % 2 == 1;
        fold(levels.subspan(levels.size() - levels.size() / 2));
    } else {
        levels_.assign(levels.begin(), levels.end());
        has_zero_ = std::find(levels.begin(), levels.end(), 0.0f) != levels.end();
    }
    if (spacing_ == Spacing::any) make_search();
    make_bucket();
}

void LevelTable::fold(std::span<const float> upper) {
    magnitudes_.assign(upper.begin(), upper.end());
    if (doubling(upper)) spacing_ = Spacing::doubling;
    else if (has_zero_ && even(upper)) spacing_ = Spacing::even;
    if (spacing_ == Spacing::even) {
        const double m = static_cast<double>(upper.size()), top = magnitudes_.back();
        for (std::size_t k = 0; k < upper.size(); ++k) magnitudes_[k] = static_cast<double>(k + 1) * top / m;
    }
    levels_.push_back(has_zero_ ? 0 : -magnitudes_.front());
    levels_.insert(levels_.end(), magnitudes_.begin(), magnitudes_.end());
}

void LevelTable::make_search() {
    const std::vector<float> levels(levels_.begin(), levels_.end());
    if (levels.size() < 2) return;
    search_.emplace(levels);
    uppers_.assign(kernels::kMaxLevels, levels.back());
    std::copy(levels.begin() + 1, levels.end(), uppers_.begin());
}

void LevelTable::make_bucket() {
    kernels::ErrorBucket& b = bucket_;
    const bool folded = !magnitudes_.empty();
    const double m = static_cast<double>(magnitudes_.size()), top = levels_.back();
    b.reduction = {1, 0, folded ? 0.0f : static_cast<float>(levels_.front()), static_cast<float>(top),
                   folded ? kernels::kSignless : -1};
    switch (spacing_) {
        case Spacing::doubling:
            b.rule = kernels::GapRule::doubling;
            b.first = static_cast<float>(magnitudes_.front());
            b.bottom = static_cast<float>(levels_.front());
            break;
        case Spacing::even:
            b.rule = kernels::GapRule::even;
            b.first = static_cast<float>(top / m);
            b.per_step = static_cast<float>(m / top);
            break;
        case Spacing::any:
            b.rule = kernels::GapRule::search;
            b.table = search_->view();
            b.uppers = uppers_.data();
            b.top = static_cast<std::int32_t>(levels_.size()) - 1;
            break;
    }
}

}  // namespace gradz
