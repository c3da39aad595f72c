// Tables of levels made ready for the kernels.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernels.hpp"

namespace gradz::kernels {

class LevelTable {
public:
    // Magnitudes, levels[0] = 0, or a signed table. Precondition: 2..kMaxLevels levels, strictly
    // increasing, all non-zero ones normal.
    explicit LevelTable(std::span<const float> levels);

    TableView view() const {  // of this object, which outlives it; moving keeps it valid
        return {levels_.data(), weights_.data(), start_.data(), shift_, low_, cells_, reach_};
    }

private:
    void cut_cells(std::size_t count);

    std::vector<float> levels_, weights_;
    std::vector<std::uint8_t> start_;
    std::int32_t shift_ = 0, low_ = 0, cells_ = 0, reach_ = 0;
};

}  // namespace gradz::kernels
