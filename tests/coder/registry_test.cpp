// lib/coder/registry.cpp: rows, names and ids.
#include <doctest/doctest.h>

#include <set>

#include "coder/blocks.hpp"
#include "coder/coder.hpp"
#include "coder/coders.hpp"

using namespace gradz;

TEST_CASE("every row makes a coder, by name and by id") {
    std::set<std::uint16_t> ids;
    for (const auto& row : coder_stages()) {
        CHECK(row.kind == Kind::coder);
        CHECK(ids.insert(row.id).second);
        const auto named = make_coder(row.name, {}), numbered = coder_by_id(row.id);
        REQUIRE(named);
        REQUIRE(numbered);
        CHECK(named->id() == row.id);
        CHECK(numbered->id() == row.id);
        CHECK(named->carries_scales() == (row.name == "elias"));
    }
    CHECK(ids == std::set<std::uint16_t>{1, 2, 3, 4});  // on disk
    CHECK(make_coder("nuqsgd", {}) == nullptr);
    CHECK(coder_by_id(0) == nullptr);
    CHECK(coder_by_id(5) == nullptr);
}

TEST_CASE("parameters reach the coder") {
    using Params = std::vector<std::pair<std::string, std::string>>;
    const auto block = test::block(SymbolKind::magnitudes, 15, {4000}, test::Fill::sparse, 2);
    const auto first = [&](const char* code) {
        return test::encode(*make_coder("elias", Params{{"code", code}}), block)[0];
    };
    CHECK(first("omega") == std::byte{0});
    CHECK(first("gamma") == std::byte{1});
    CHECK(first("delta") == std::byte{2});
    const auto size = [&](const char* level) {
        return test::encode(*make_coder("zstd", Params{{"level", level}}), block).size();
    };
    CHECK(size("19") < size("1"));
}
