// Where scaled values fall in a table of levels, compiled once per target by target.cpp. The
// outcome is that of find_level; only the way there differs.
namespace gradz::kernels::GRADZ_TARGET {

// What table_step takes, for the elements of a group.
struct Places {
    alignas(64) float r[kGroup], level[kGroup], weight[kGroup];
    alignas(64) std::int32_t k[kGroup];
};

// At most 16 levels: k counts those that r has reached, all in registers.
template <int kCount>
static void find_among_few(const TableView& table, std::int32_t top, const float* other, const float* __restrict r,
                           std::int32_t* __restrict k, float* __restrict level, float* __restrict value) {
    const Lanes::Sixteen levels(table.levels), others(other);
    for (int j = 0; j < kCount; j += Lanes::kFloats) {
        const auto x = Lanes::load<Lanes::F>(r + j);
        Lanes::I at = {};
        for (std::int32_t i = 1; i <= top; ++i) at = Lanes::next_if_reached(at, x, table.levels[i]);
        const Lanes::F l = levels[at], o = others[at];
        memcpy(k + j, &at, sizeof at);
        memcpy(level + j, &l, sizeof l);
        memcpy(value + j, &o, sizeof o);
    }
}

// More levels: one element at a time, a few loads each and no branch. The table by value:
// GCC would read its pointers again after every store.
template <int kCount, bool kOneStep>
static void find_in_cells(const TableView table, const float* other, const float* __restrict r,
                          std::int32_t* __restrict k, float* __restrict level, float* __restrict value) {
    for (int j = 0; j < kCount; ++j) {
        std::int32_t at = table.start[cell_of(table, r[j])];
        if (kOneStep) at += r[j] >= table.levels[at + 1];
        else at = find_level(table, r[j]);
        k[j] = at, level[j] = table.levels[at], value[j] = other[at];
    }
}

// r, k, level, value: [kCount]. k: the largest with levels[k] <= r; level: levels[k]; value:
// other[k], other being a table of as many.
template <int kCount>
static void find(const TableView& table, std::int32_t top, const float* other, const float* __restrict r,
                 std::int32_t* __restrict k, float* __restrict level, float* __restrict value) {
    if (top < Lanes::kFewLevels) find_among_few<kCount>(table, top, other, r, k, level, value);
    else if (table.reach == 1) find_in_cells<kCount, true>(table, other, r, k, level, value);
    else find_in_cells<kCount, false>(table, other, r, k, level, value);
}

}  // namespace gradz::kernels::GRADZ_TARGET
