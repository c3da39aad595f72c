// lib/kernels: every target does what the element functions say, byte for byte.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/quantize_element.hpp"
#include "kernels/table.hpp"
#include "support/gen.hpp"

using namespace gradz;
using namespace gradz::kernels;

namespace {

const std::size_t kLengths[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 65, 127, 128, 129, 511, 512, 1025};
constexpr PhiloxKey kKey{0x12345678, 0x9abcdef0};
using Bytes = std::vector<std::uint8_t>;

Step step_of(const Grid& grid, float r) {
    if (grid.kind == LevelKind::exponential) return ExponentialHalf{grid.top, std::ldexp(1.0f, grid.top - 1)}(r);
    if (grid.kind == LevelKind::uniform) return Uniform{static_cast<float>(grid.top)}(r);
    const std::int32_t k = find_level(grid.table, r);
    return table_step(k, r, grid.table.levels[k], grid.table.weights[k]);
}

Bytes by_element(const Bucket& in, const Grid& grid, int* ties) {
    Bytes symbols(in.n * static_cast<std::size_t>(grid.bytes));
    const bool is_signed = grid.kind == LevelKind::signed_table;
    for (std::size_t i = 0; i < in.n; ++i) {
        const Step step = step_of(grid, is_signed ? scaled_signed(in.x[i], in.S, 1.0f) : scaled(in.x[i], in.S));
        const auto h = static_cast<std::int32_t>(philox_half(in.first + i, in.key, kUpperHalf));
        const auto l = static_cast<std::int32_t>(philox_half(in.first + i, in.key, kLowerHalf));
        *ties += !grid.nearest && h == step.hi && l < step.lo;
        const std::int32_t level = step.k + (grid.nearest ? rounds_to_nearest(step) : rounds_up(step, h, l));
        const auto symbol = static_cast<std::uint16_t>(is_signed ? level : signed_symbol(in.x[i], level));
        REQUIRE((grid.bytes == 2 || symbol < 256));
        std::memcpy(&symbols[i * static_cast<std::size_t>(grid.bytes)], &symbol, static_cast<std::size_t>(grid.bytes));
    }
    return symbols;
}

int check(const Bucket& in, Grid grid) {
    int ties = 0;
    for (const bool nearest : {false, true}) {
        grid.nearest = nearest;
        const Bytes want = by_element(in, grid, &ties);
        for (const Kernels* k : runnable()) {
            CAPTURE(k->target);
            Bytes got(want.size() + 2, 0xee);  // one byte before: odd addresses
            k->quantize(in, grid, got.data() + 1);
            CHECK((got.front() == 0xee && got.back() == 0xee));
            CHECK(std::equal(want.begin(), want.end(), got.begin() + 1));
        }
    }
    return ties;
}

std::vector<float> powers(double p, int m, bool both) {
    std::vector<float> levels(both ? 0 : 1);
    double power = 1;
    for (int j = 0; j < m; ++j, power *= p) {
        levels.push_back(static_cast<float>(power));
        if (both) levels.push_back(static_cast<float>(-power));
    }
    std::sort(levels.begin(), levels.end());
    return levels;
}

// Grids of every kind and size; the tables live as long as the program.
std::vector<Grid> grids() {
    std::vector<Grid> all;
    for (int m : {1, 7, 100, 127}) all.push_back({LevelKind::exponential, false, m, 1, {}});
    for (int m : {1, 7, 100, 127}) all.push_back({LevelKind::uniform, false, m, 1, {}});
    for (int m : {127, 128, 255}) all.push_back({LevelKind::uniform, false, m, 2, {}});
    static std::vector<LevelTable> tables;
    tables.reserve(100);
    const auto add = [&](double p, int m, bool both) {
        tables.emplace_back(powers(p, m, both));
        all.push_back({both ? LevelKind::signed_table : LevelKind::magnitudes, false, both ? 2 * m - 1 : m,
                       both || m <= 127 ? 1 : 2, tables.back().view()});
    };
    for (int m : {1, 3, 7, 14, 15, 16, 31, 127, 128, 255}) add(m > 31 ? 0.9 : 0.6, m, false);
    for (int m : {1, 2, 8, 9, 16, 64, 128}) add(m > 31 ? 0.9 : 0.6, m, true);
    std::vector<float> crowded = {0.0f, 0x1p-126f};  // several levels in a cell
    for (float level = 0.7f; crowded.size() < 60; level = std::nextafter(level, 1.0f)) crowded.push_back(level);
    crowded.push_back(1.0f);
    tables.emplace_back(crowded);
    all.push_back({LevelKind::magnitudes, false, 60, 1, tables.back().view()});
    CHECK(tables.back().view().reach > 1);
    return all;
}

}  // namespace

TEST_CASE("targets are what they are called") {
    CHECK(std::string(runnable().front()->target) == "scalar");
    for (const Kernels* k : runnable()) {
        const std::string name = k->target;
        CHECK(k->vector_bytes == (name == "avx512" ? 64 : name == "avx2" ? 32 : 16));
        CHECK(*choose(name) == k);
        if (name != "scalar") CHECK((k->pack8 != runnable().front()->pack8));
    }
    CHECK(*choose("") == runnable().back());
    CHECK(choose("sse9").error().code == Errc::invalid_argument);
}

TEST_CASE("every target writes what the element functions say") {
    int ties = 0;
    for (const Grid& grid : grids())
        for (std::size_t n : kLengths)
            for (float unit : {1.0f, 1e-30f, 1e-42f}) {  // 1e-42: subnormal inputs
                CAPTURE(n);
                CAPTURE(unit);
                CAPTURE(static_cast<int>(grid.kind));
                CAPTURE(grid.top);
                const auto x = test::laplace(n, unit, 1);
                const float S = std::max(0x1p-126f, unit * std::sqrt(static_cast<float>(n)));
                ties += check({x.data(), n, 5 * n + (std::uint64_t{1} << 36), kKey, S}, grid);
            }
    const auto x = test::laplace(1 << 17, 1.0f, 2);  // long enough for ties that l decides
    for (const Grid& grid : grids())
        if (grid.top == 7) ties += check({x.data(), x.size(), 0, kKey, 20.0f}, grid);
    CHECK(ties > 0);
}

TEST_CASE("exact halves, levels and zeros") {
    for (const Grid& grid : grids()) {
        CAPTURE(static_cast<int>(grid.kind));
        CAPTURE(grid.top);
        std::vector<float> x = {0.0f, -0.0f, 1.0f, -1.0f, 0x1p-149f};
        const auto level = [&](std::int32_t k) {
            if (grid.kind == LevelKind::exponential) return k ? std::ldexp(1.0f, k - grid.top) : 0.0f;
            return grid.kind == LevelKind::uniform ? static_cast<float>(k) / static_cast<float>(grid.top)
                                                   : grid.table.levels[k];
        };
        for (std::int32_t k = 0; k < grid.top; ++k)
            for (const float sign : {1.0f, -1.0f})
                for (const float y : {level(k), (level(k) + level(k + 1)) / 2}) x.push_back(sign * y);
        check({x.data(), x.size(), 3, kKey, 1.0f}, grid);
        check({x.data() + 1, x.size() - 1, 127, kKey, 1.0f}, grid);
    }
}

TEST_CASE("golden symbols: key 0, 0.875 between levels 6 and 7 rounds up below 0xc000") {
    const std::vector<float> x(128, 0.875f);
    for (const Kernels* k : runnable()) {
        Bytes s(128), first;
        k->quantize({x.data(), x.size(), 0, {0, 0}, 1.0f}, {LevelKind::exponential, false, 7, 1, {}}, s.data());
        for (std::size_t i = 0; i < 128; i += 16) first.push_back(s[i]);
        CHECK(first == Bytes{11, 13, 11, 11, 13, 13, 11, 13});
    }
}
