// One pass over a dump without coding it: what `stats` and `diff` print.
#pragma once

#include <vector>

#include "core/error.hpp"
#include "core/source.hpp"
#include "stats/compare.hpp"
#include "stats/moments.hpp"

namespace gradz {

// Of each tensor, in order. Sums are taken per chunk of 2^18 elements and added in order.
Result<std::vector<Moments>> describe_dump(TensorSource& source, int threads);

// Tensors a[i.first] and b[i.second] of the same shape, element by element.
struct TensorPair {
    std::size_t a, b;
};
Result<std::vector<Comparison>> compare_dumps(TensorSource& a, TensorSource& b, std::span<const TensorPair> pairs,
                                              int threads);

}  // namespace gradz
