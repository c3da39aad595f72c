// Where a group falls in a table of levels, compiled once per target by target.cpp. The
// outcome is that of find_level; only the way there differs.
namespace gradz::kernels::GRADZ_TARGET {

// What table_step takes, for the elements of a group.
struct Places {
    alignas(64) float r[kGroup], level[kGroup], weight[kGroup];
    alignas(64) std::int32_t k[kGroup];
};

// At most 16 levels: k counts those that r has reached, all in registers.
static void find_among_few(const TableView& table, std::int32_t top, Places& at) {
    const Lanes::Sixteen levels(table.levels), weights(table.weights);
    for (int j = 0; j < kGroup; j += Lanes::kFloats) {
        Lanes::F r;
        Lanes::I k = {};
        memcpy(&r, at.r + j, sizeof r);
        for (std::int32_t i = 1; i <= top; ++i) k -= r >= Lanes::F{} + table.levels[i];
        const Lanes::F level = levels[k], weight = weights[k];
        memcpy(at.level + j, &level, sizeof level);
        memcpy(at.weight + j, &weight, sizeof weight);
        memcpy(at.k + j, &k, sizeof k);
    }
}

// More levels: one element at a time, a few loads each and no branch. The table by value:
// GCC would read its pointers again after every store.
template <bool kOneStep>
static void find_in_cells(const TableView table, const float* __restrict r, std::int32_t* __restrict k,
                          float* __restrict level, float* __restrict weight) {
    for (int j = 0; j < kGroup; ++j) {
        std::int32_t at = table.start[cell_of(table, r[j])];
        if (kOneStep) at += r[j] >= table.levels[at + 1];
        else at = find_level(table, r[j]);
        k[j] = at, level[j] = table.levels[at], weight[j] = table.weights[at];
    }
}

static void find(const TableView& table, std::int32_t top, Places& at) {
    if (top < Lanes::kFewLevels) find_among_few(table, top, at);
    else if (table.reach == 1) find_in_cells<true>(table, at.r, at.k, at.level, at.weight);
    else find_in_cells<false>(table, at.r, at.k, at.level, at.weight);
}

}  // namespace gradz::kernels::GRADZ_TARGET
