// What the pieces of a block lost, measured on what a decoder will make of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pipeline/coded_block.hpp"

namespace gradz {

// Reused from block to block; one per worker. level: error or full; none measures nothing.
class BlockMeter {
public:
    // A piece that was coded: elements [first, first + n) of the tensor. bytes: the elements as they
    // are; values: the same as float32, [n]; symbols: [n] of the quantizer; S: as stored;
    // norm2: the sum of squares of `values` where it is known.
    void coded(const PartInput& part, std::uint64_t first, std::span<const std::byte> bytes,
               std::span<const float> values, std::span<const std::byte> symbols, float S, std::optional<double> norm2,
               StatsLevel level, Sums& sums);

    // Elements that come back bit for bit; escaped: since the scheme could not represent them.
    void exact(const PartInput& part, std::span<const std::byte> bytes, bool escaped, StatsLevel level, Sums& sums);

private:
    // As a decoder will make them of `symbols`, rounded to the dtype; valid until the next call.
    std::span<const float> decode(const Scheme& scheme, DType dtype, std::span<const std::byte> symbols, float S,
                                  std::size_t n);
    const BucketBound& bound(const Scheme& scheme, std::uint64_t length);

    std::vector<float> decoded_;
    std::vector<double> originals_;
    std::vector<std::byte> rounded_;
    const Scheme* bound_of_ = nullptr;
    std::uint64_t bound_length_ = 0;
    BucketBound bound_;
};

}  // namespace gradz
