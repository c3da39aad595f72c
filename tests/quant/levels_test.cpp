// lib/quant/levels.cpp: tables from the definitions, and the ones that float32 refuses.
#include "quant/levels.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "quant/resolve.hpp"

using namespace gradz;
using kernels::LevelKind;

namespace {

Result<LevelSet> levels(const std::string& text) {
    auto resolved = resolve(*parse_spec(text), preset_stages());
    if (!resolved) return resolved.error();
    return make_levels(*find_preset(resolved->front().name), resolved->front());
}

std::string refusal(const std::string& text) {
    const auto got = levels(text);
    return got ? "" : got.error().what;
}

}  // namespace

TEST_CASE("golden tables") {
    using Levels = std::vector<float>;
    CHECK(levels("nuqsgd:bits=3")->levels == Levels{0, 0.25f, 0.5f, 1});
    CHECK(levels("nuqsgd:bits=3")->kind == LevelKind::exponential);
    CHECK(levels("nuqsgd:s=2")->levels == Levels{0, 0.25f, 0.5f, 1});
    CHECK(levels("nuqsgd:s=2,p=0.1")->levels == Levels{0, 0.01f, 0.1f, 1});
    CHECK(levels("nuqsgd:s=2,p=0.1")->kind == LevelKind::magnitudes);
    CHECK(levels("nuqsgd:bits=2,zero=no")->levels == Levels{-1, -0.5f, 0.5f, 1});
    CHECK(levels("nuqsgd:bits=2,zero=no")->kind == LevelKind::signed_table);
    CHECK(levels("nuqsgd:bits=1,zero=no")->levels == Levels{-1, 1});
    CHECK(levels("qsgd:s=3")->levels == Levels{0, 1.0f / 3, 2.0f / 3, 1});
    CHECK(levels("qsgdinf:bits=2")->levels == Levels{0, 1});
    CHECK(levels("fp16")->levels.empty());
}

TEST_CASE("powers are products, not powers of some math library") {
    auto set = levels("nuqsgd:bits=8,p=0.9");
    double power = 1;
    for (std::size_t k = 127; k > 0; --k, power *= 0.9) CHECK(set->levels[k] == static_cast<float>(power));
}

TEST_CASE("the first level that is not normal or not above the one below is named") {
    CHECK(refusal("nuqsgd:s=127") == "level 1 of 128 (5.877472e-39) is not a normal float32");
    CHECK(refusal("nuqsgd:s=126") == "");
    CHECK(refusal("nuqsgd:bits=8,p=0.1") == "level 1 of 127 (0) is not a normal float32");
    CHECK(refusal("nuqsgd:bits=8,zero=no") == "level 1 of 128 (5.877472e-39) is not a normal float32");
    CHECK(refusal("nuqsgd:bits=4,p=0.99999999") == "level 2 of 7 (0.99999994) equals the one below as float32");
    CHECK(refusal("nuqsgd:s=254,p=0.7") == "level 1 of 255 (4.51755e-40) is not a normal float32");
    CHECK(refusal("nuqsgd:s=254,p=0.9") == "");
}

TEST_CASE("bits and s go with zero, or not") {
    CHECK(refusal("nuqsgd:bits=1") == "bits = 1, want 2..8 with zero=yes");
    CHECK(refusal("nuqsgd:s=6,zero=no") == "s = 6 counts levels beside zero; with zero=no give bits");
    CHECK(refusal("nuqsgd:s=255,p=0.9") == "s = 255, want 0..254");
    CHECK(refusal("qsgd:s=255") == "");
}
