// lib/kernels/table.cpp: the search by cells finds what a plain search does, in any table.
#include "kernels/table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "kernels/quantize_element.hpp"

using namespace gradz::kernels;

namespace {

std::int32_t plain(const std::vector<float>& levels, float r) {
    return static_cast<std::int32_t>(std::upper_bound(levels.begin(), levels.end(), r) - levels.begin()) - 1;
}

void check(const std::vector<float>& levels) {
    const LevelTable table(levels);
    std::mt19937 gen(7);
    std::vector<float> probes = {0.0f, 0x1p-149f, 0x1p-126f};
    for (const float level : levels)
        for (const float toward : {-INFINITY, INFINITY})
            probes.insert(probes.end(), {level, std::nextafter(level, toward)});
    for (int i = 0; i < 2000; ++i)
        probes.push_back(std::ldexp(1.0f, -static_cast<int>(gen() % 150)) * static_cast<float>(gen()) * 0x1p-32f);
    for (const float probe : probes)
        for (const float r : {probe, -probe})
            if (r <= levels.back() && r >= levels.front() && !(levels.front() == 0 && std::signbit(r)))
                CHECK(find_level(table.view(), r) == plain(levels, r));
    for (std::size_t k = 0; k + 1 < levels.size(); ++k)
        CHECK(table.view().weights[k] == static_cast<float>(1.0 / (static_cast<double>(levels[k + 1]) - levels[k])));
    CHECK(table.view().weights[levels.size() - 1] == 0);
}

}  // namespace

TEST_CASE("powers, evenly spaced, crowded and random tables") {
    check({0.0f, 1.0f});
    check({-1.0f, 1.0f});
    for (double p : {0.2, 0.5, 0.71, 0.9, 0.99999})
        for (int count : {2, 16, 40, 127}) {
            std::vector<float> both;
            double power = 1;
            for (int j = 0; j < count && power > 0x1p-126; ++j, power *= p) both.push_back(static_cast<float>(power));
            std::vector<float> magnitudes(both);
            for (const float level : magnitudes) both.push_back(-level);
            magnitudes.push_back(0.0f);
            for (auto* levels : {&both, &magnitudes}) {
                std::sort(levels->begin(), levels->end());
                check(*levels);
            }
        }
    std::vector<float> even(256), crowded(256);
    for (int k = 0; k < 256; ++k) even[static_cast<std::size_t>(k)] = static_cast<float>(k) / 255;
    check(even);
    for (int k = 1; k < 256; ++k)  // 254 neighbours in one cell, and one far below
        crowded[static_cast<std::size_t>(k)] =
            k == 1 ? 0x1p-126f : std::nextafter(k == 2 ? 0.7f : crowded[static_cast<std::size_t>(k) - 1], 1.0f);
    check(crowded);
    std::mt19937 gen(3);
    for (int t = 0; t < 20; ++t) {
        std::set<float> random = {0.0f};
        while (random.size() < 100)
            random.insert(std::ldexp(1 + static_cast<float>(gen()) * 0x1p-33f, -static_cast<int>(gen() % (t + 1))));
        check({random.begin(), random.end()});
    }
}
