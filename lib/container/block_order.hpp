// Which blocks a stream has follows from its tensors (docs/FORMAT.md 6): writers plan by
// this, readers hold blocks to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "container/state.hpp"
#include "core/tensor.hpp"

namespace gradz {

// Name of the quantizer of a canonical spec: what stands before its keys and coders.
std::string_view quantizer_of(std::string_view spec);

// Elements of a bucket of a tensor with that many elements, at least 1, from the `bucket`
// key of a canonical spec. A quantizer that this reader does not know: Errc::incompatible.
Result<std::uint64_t> bucket_of(const std::string& spec, std::uint64_t elements);

struct BlockPlace {
    std::uint64_t tensor = 0, tensors = 1, chunk = 0;
    Chunk elements{};  // of its tensor, or all of those of a run
};

// Blocks of a stream must come in element order and cover every element once.
class BlockOrder {
public:
    // The block that must come next for the tensors known so far, which end with the record
    // of tensors at hand; nothing where all have their blocks.
    Result<std::optional<BlockPlace>> expected(const StreamState& state);

    // Moves on past what expected() gave.
    void advance(const BlockPlace& place, const StreamState& state);

    // Checks a block and moves on. Errc::corrupt names the block that was expected.
    Result<Chunk> next(const BlockHead& head, const StreamState& state);

    // The same for a block of which only tensor and chunk are known: the place it has.
    Result<BlockPlace> next(std::uint64_t tensor, std::uint64_t chunk, const StreamState& state);

    // At a TENSORS record and at the end: nothing is missing.
    Result<Done> complete(const StreamState& state);

private:
    std::uint64_t tensor_ = 0, element_ = 0;  // the first one that has not had its block
};

}  // namespace gradz
