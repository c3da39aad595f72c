// Errors for unknown names: what was meant, probably.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace gradz {

inline std::size_t distance(std::string_view a, std::string_view b) {  // Levenshtein, one row
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substitute = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({substitute, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

// rows: anything with a name; the three nearest are listed.
template <class Row>
Error unknown(const char* what, const std::string& given, std::span<const Row> rows, std::string_view Row::*name) {
    std::vector<std::pair<std::size_t, std::string_view>> near;
    for (const auto& row : rows) near.emplace_back(distance(given, row.*name), row.*name);
    std::sort(near.begin(), near.end());
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, near.size()); ++i)
        list += (i ? ", " : "") + std::string(near[i].second);
    return {Errc::invalid_argument, std::string("no ") + what + " '" + given + "'; nearest: " + list, "spec"};
}

}  // namespace gradz
