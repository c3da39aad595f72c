// How a dump is cut: batches of headers, chunks of large tensors, runs of small ones
// (docs/FORMAT.md 5 and 6). A function of the headers alone, so that bytes depend on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "container/record.hpp"
#include "pipeline/scheme.hpp"

namespace gradz {

// One tensor as the coding loops see it.
struct Planned {
    const TensorInfo* info;
    std::uint64_t elements;
    std::uint64_t key;
    std::uint64_t rule;
    std::shared_ptr<const Scheme> scheme;
};

// Elements [first, first + count) of tensor `tensor`.
struct Part {
    std::size_t tensor;
    std::uint64_t first, count;
};

// What one BLOCK holds.
struct BlockPlan {
    std::uint64_t chunk = 0;    // of a large tensor; 0 for a run
    std::vector<Part> parts;    // one chunk, or all tensors of a run with elements
    std::uint64_t tensors = 1;  // that a run spans, empty ones between included
};

// Walks over tensors in order: first one past the end of each batch, and its blocks.
class Layout {
public:
    explicit Layout(std::span<const Planned> tensors) : tensors_(tensors) {}

    // The next batch [begin, end), empty at the end.
    std::span<const Planned> next_batch();

    // The next block of the batch at hand; false at its end.
    bool next_block(BlockPlan& block);

private:
    std::span<const Planned> tensors_;
    std::size_t begin_ = 0, end_ = 0, at_ = 0;  // batch, and the tensor whose turn it is
    std::uint64_t element_ = 0;
};

// The pieces of a part: its buckets, cut at its ends. Calls each(first, count) in order,
// counted in the tensor.
template <class Each>
void for_each_piece(const Part& part, std::uint64_t bucket, Each each) {
    for (std::uint64_t at = part.first, end = part.first + part.count; at < end;) {
        const std::uint64_t stop = std::min(end, (at / bucket + 1) * bucket);
        each(at, stop - at);
        at = stop;
    }
}

}  // namespace gradz
