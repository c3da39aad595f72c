// A table of levels as the kernels search it.
#pragma once

#include <cstdint>

namespace gradz::kernels {

constexpr std::int32_t kMaxLevels = 256, kMaxSymbols = 512;

// A table of levels, ready to search (table.hpp makes them). Magnitudes of float32 are cut
// into cells of 2^shift neighbours, from cell `low` (it holds all below, too) on; a
// negative value is in cell `cells` + that of its magnitude. start: the level of the least
// value in each cell; at most `reach` more levels lie in the cell.
struct TableView {
    const float* levels;        // [kMaxLevels + 1]: strictly increasing up to the last, then infinite
    const float* weights;       // [kMaxLevels]: of table_step
    const std::uint8_t* start;  // [cells], signed tables [2 cells]
    std::int32_t shift, low, cells, reach;
};

}  // namespace gradz::kernels
