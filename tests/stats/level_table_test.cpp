// lib/stats/level_table.cpp: what is recognized, and that it stays what it is.
#include "stats/level_table.hpp"

#include <doctest/doctest.h>

#include "stats/reference.hpp"

using namespace gradz;

TEST_CASE("spacing is recognized exactly or not at all") {
    const auto spacing = [](std::vector<float> levels, SymbolKind kind = SymbolKind::magnitudes) {
        return LevelTable(levels, kind).spacing();
    };
    CHECK(spacing(test::exponential(7)) == Spacing::doubling);
    CHECK(spacing(test::exponential(127)) == Spacing::doubling);
    CHECK(spacing(test::uniform(7)) == Spacing::even);
    CHECK(spacing(test::uniform(255)) == Spacing::even);
    CHECK(spacing({0, 1, 2, 3, 4, 5}) == Spacing::even);
    CHECK(spacing(test::exponential(7, 0.4f)) == Spacing::any);
    auto off = test::uniform(7);
    off[3] = std::nextafter(off[3], 1.0f);
    CHECK(spacing(off) == Spacing::any);
    const auto table = SymbolKind::table;
    CHECK(spacing(test::mirrored({0.25f, 0.5f, 1}), table) == Spacing::doubling);
    CHECK(spacing({-1, -0.5f, 0, 0.5f, 1}, table) == Spacing::doubling);
    CHECK(spacing({-1, -0.75f, -0.5f, -0.25f, 0, 0.25f, 0.5f, 0.75f, 1}, table) == Spacing::even);
    CHECK(spacing(test::mirrored({1.0f / 3, 1}), table) == Spacing::any);
    CHECK(spacing({-0.5f, 0, 0.5f, 1}, table) == Spacing::any);
}

TEST_CASE("symmetric tables keep the sign apart, others do not") {
    const LevelTable zero(std::vector<float>{-1, -0.5f, 0, 0.5f, 1}, SymbolKind::table);
    CHECK(zero.has_zero());
    CHECK(std::vector<double>(zero.levels().begin(), zero.levels().end()) == std::vector<double>{0, 0.5, 1});
    const LevelTable none(std::vector<float>{-1, -0.5f, 0.5f, 1}, SymbolKind::table);
    CHECK(!none.has_zero());
    CHECK(std::vector<double>(none.levels().begin(), none.levels().end()) == std::vector<double>{-0.5, 0.5, 1});
    const LevelTable lopsided(std::vector<float>{-0.5f, 0, 1}, SymbolKind::table);
    CHECK(lopsided.magnitudes().empty());
    CHECK(lopsided.levels().size() == 3);
    CHECK(LevelTable({}, SymbolKind::bits16).empty());
    CHECK(LevelTable().empty());
}
