// Elements of a dump, or a slice of them, in order, read on all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/error.hpp"
#include "core/source.hpp"

namespace gradz {

// Rows [begin, end) of the first axis of every tensor, cut at its length; all by default.
struct Slice {
    std::uint64_t begin = 0, end = UINT64_MAX;

    bool all() const { return begin == 0 && end == UINT64_MAX; }
};

// `info` with the shape of its slice. Errc::invalid_argument for a tensor without axes.
Result<TensorInfo> sliced(const TensorInfo& info, Slice slice);

// Receives elements of tensor `tensor`, the first of which is `first` in the slice; in order.
using ElementSink = std::function<Result<Done>(std::size_t tensor, std::uint64_t first, std::span<const std::byte>)>;

Result<Done> copy_elements(TensorSource& source, Slice slice, const ElementSink& sink, int threads);

}  // namespace gradz
