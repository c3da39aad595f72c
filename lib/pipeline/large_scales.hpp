// Scales of buckets that are longer than a block: a first pass over their tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "core/source.hpp"
#include "pipeline/layout.hpp"
#include "pipeline/nonfinite.hpp"

namespace gradz {

// Per tensor, one scale a bucket; empty for tensors whose buckets lie inside blocks.
using LargeScales = std::vector<std::vector<Scale>>;

// Whether any tensor has a bucket longer than kChunkTarget.
bool has_large_buckets(std::span<const Planned> tensors);

// Reads these tensors once, in parallel; parts of 65 536 elements are joined in order, so
// that the sums are those of one long loop. Under NonFinite::zero they are those of the
// elements as they will be coded.
Result<LargeScales> large_scales(TensorSource& source, std::span<const Planned> tensors, NonFinite policy, int threads);

}  // namespace gradz
