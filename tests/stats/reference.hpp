// Tables of every kind and plain reference rounding, for the tests of lib/stats.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/symbols.hpp"
#include "kernels/kernels.hpp"

namespace gradz::test {

struct TableCase {
    std::string name;
    std::vector<float> levels;  // as LevelTable takes them
    SymbolKind kind;
    bool unit;  // the outermost levels are -1 and 1, or 1 for magnitudes
};

inline std::vector<float> exponential(int m, float p = 0.5f) {
    std::vector<float> levels(static_cast<std::size_t>(m) + 1);
    double level = 1;
    for (int k = m; k >= 1; --k, level *= static_cast<double>(p))
        levels[static_cast<std::size_t>(k)] = static_cast<float>(level);
    return levels;
}

inline std::vector<float> uniform(int m) {
    std::vector<float> levels;
    for (int k = 0; k <= m; ++k) levels.push_back(static_cast<float>(k) / static_cast<float>(m));
    return levels;
}

// Both signs of positive magnitudes, ascending.
inline std::vector<float> mirrored(std::vector<float> upper) {
    std::vector<float> levels;
    for (auto l = upper.rbegin(); l != upper.rend(); ++l) levels.push_back(-*l);
    levels.insert(levels.end(), upper.begin(), upper.end());
    return levels;
}

inline std::vector<float> without_zero(const std::vector<float>& levels) { return {levels.begin() + 1, levels.end()}; }

inline std::vector<TableCase> all_tables() {
    const auto magnitudes = SymbolKind::magnitudes, table = SymbolKind::table;
    std::vector<TableCase> cases;
    for (int m : {1, 2, 3, 7, 63, 127})
        cases.push_back({"2^(k-" + std::to_string(m) + ")", exponential(m), magnitudes, true});
    for (int m : {1, 3, 7, 127, 255}) cases.push_back({"k/" + std::to_string(m), uniform(m), magnitudes, true});
    cases.push_back({"0.9^j", exponential(15, 0.9f), magnitudes, true});
    cases.push_back({"0.1^j", exponential(5, 0.1f), magnitudes, true});
    cases.push_back({"fitted", {0, 0.011f, 0.013f, 0.2f, 0.55f, 0.6f, 1}, magnitudes, true});
    cases.push_back({"e2m1", {0, 0.5f, 1, 1.5f, 2, 3, 4, 6}, magnitudes, false});
    cases.push_back({"integers", {0, 1, 2, 3, 4, 5, 6, 7}, magnitudes, false});
    cases.push_back({"sign", {-1, 1}, table, true});
    cases.push_back({"no zero, 2^-j", mirrored(without_zero(exponential(8))), table, true});
    cases.push_back({"no zero, 0.3^j", mirrored(without_zero(exponential(4, 0.3f))), table, true});
    cases.push_back({"no zero, even", mirrored({1.0f / 7, 3.0f / 7, 5.0f / 7, 1}), table, true});
    cases.push_back({"with zero, symmetric", mirrored({0.1f, 0.5f, 1}), table, true});
    cases.back().levels.insert(cases.back().levels.begin() + 3, 0.0f);
    cases.push_back({"asymmetric", {-1, -0.7f, -0.5f, -0.1f, 0, 0.08f, 0.25f, 0.44f, 1}, table, true});
    cases.push_back({"asymmetric, no zero", {-1, -0.4f, -0.02f, 0.3f, 0.7f, 1}, table, true});
    return cases;
}

// All values that r = v / S may be rounded to, ascending.
inline std::vector<double> signed_levels(const TableCase& t) {
    if (t.kind == SymbolKind::table) return {t.levels.begin(), t.levels.end()};
    const auto both = mirrored(without_zero(t.levels));
    std::vector<double> all(both.begin(), both.end());
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), 0.0);
    return all;
}

// The neighbours of r, clipped, and the probability of the upper one.
struct Neighbours {
    double lower, upper;
    long double up;
};
inline Neighbours neighbours(const std::vector<double>& levels, long double r) {
    if (r <= levels.front()) return {levels.front(), levels.front(), 0};
    if (r >= levels.back()) return {levels.back(), levels.back(), 0};
    const auto above = std::upper_bound(levels.begin(), levels.end(), r);
    return {above[-1], *above, (r - above[-1]) / (static_cast<long double>(*above) - above[-1])};
}

struct Expected {
    double norm2, error2, sd2, nonzeros;  // of one draw: error2 with variance sd2
};

// From the two outcomes of every element, without the identities that lib/stats uses.
template <class T>
Expected expected_error(const std::vector<T>& v, float S, float offset, const std::vector<double>& levels) {
    long double norm2 = 0, mean = 0, variance = 0, nonzeros = 0;
    for (const T x : v) {
        const long double y = static_cast<long double>(static_cast<float>(x)) - offset, s = S;
        const Neighbours n = neighbours(levels, y / s);
        const long double low = (s * n.lower - y) * (s * n.lower - y), high = (s * n.upper - y) * (s * n.upper - y);
        const long double e = (1 - n.up) * low + n.up * high;
        mean += e;
        variance += (1 - n.up) * (low - e) * (low - e) + n.up * (high - e) * (high - e);
        nonzeros += (n.lower != 0 ? 1 - n.up : 0) + (n.upper != 0 ? n.up : 0);
        norm2 += static_cast<long double>(x) * x;
    }
    return {static_cast<double>(norm2), static_cast<double>(mean), static_cast<double>(variance),
            static_cast<double>(nonzeros)};
}

template <class T>
float l2(const std::vector<T>& v) {
    double sum = 0;
    for (const T x : v) sum += static_cast<double>(x) * static_cast<double>(x);
    return static_cast<float>(std::sqrt(sum));
}

template <class T>
float linf(const std::vector<T>& v) {
    float top = 0;
    for (const T x : v) top = std::max(top, static_cast<float>(std::abs(x)));
    return top;
}

}  // namespace gradz::test
