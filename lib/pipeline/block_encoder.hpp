// Elements of one block to a BLOCK record, with what they cost and what they lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "container/record.hpp"
#include "pipeline/encode.hpp"
#include "pipeline/layout.hpp"

namespace gradz {

// One part of a block: its elements, and what became of them.
struct PartInput {
    const Planned* tensor;
    std::uint64_t first, count;
    std::span<const std::byte> bytes;  // little-endian, any alignment
    std::span<const Scale> large;      // scales of buckets longer than a block, else empty
};

struct PartResult {
    Sums sums;
    std::uint64_t output = 0, code = 0, scale = 0, header = 0;  // bytes of the record; output is all of them
};

// Reused from block to block; one per worker. The bytes depend on nothing but the input.
class BlockEncoder {
public:
    // parts: of one scheme and dtype. The record is valid until the next call. Errc::nonfinite
    // (policy error) with `where` "element i".
    Result<Done> encode(std::span<const PartInput> parts, const BlockPlan& plan, NonFinite policy, StatsLevel level);

    std::span<const std::byte> record() const { return sealed_; }
    std::span<const PartResult> results() const { return results_; }  // one a part

private:
    Result<Done> apply_policy(std::span<const PartInput> parts, NonFinite policy);
    void encode_part(const PartInput& part, StatsLevel level, PartResult& result);
    void encode_piece(const PartInput& part, std::uint64_t first, std::uint64_t count, StatsLevel level,
                      PartResult& result);
    void escape(const PartInput& part, std::span<const std::byte> bytes, StatsLevel level, PartResult& result);
    Result<Done> build(const BlockPlan& plan, StatsLevel level);
    Result<bool> build_symbols(const BlockPlan& plan, std::uint64_t element_bytes);
    Result<Done> build_elements(const BlockPlan& plan);
    void measure(const PartInput& part, std::uint64_t first, std::span<const std::byte> bytes,
                 std::span<const float> values, std::span<const std::byte> symbols, float S, StatsLevel level,
                 Sums& sums);
    void measure_exactly(const PartInput& part, std::span<const std::byte> bytes, bool escaped, StatsLevel level,
                         Sums& sums);
    void measure_lossless(StatsLevel level, bool count_as_escaped);
    void start(const BlockPlan& plan, std::uint8_t coding, std::uint64_t content, std::uint64_t first);
    void write_escapes(ByteWriter& body) const;
    void spread(std::uint64_t bytes, std::uint64_t PartResult::*field);
    void share(std::uint64_t code_bytes);

    const Scheme* scheme_ = nullptr;
    std::vector<PartInput> parts_;                 // after the policy
    std::vector<std::vector<std::byte>> cleaned_;  // copies with NaN and infinity replaced
    std::vector<std::uint64_t> replaced_;          // how many, of each part
    std::vector<float> values_, decoded_;
    std::vector<double> originals_;
    std::vector<std::byte> symbols_, escapes_, code_, rounded_;
    std::vector<float> scales_;
    std::vector<std::uint32_t> coded_;  // elements of each coded piece
    std::vector<bool> escaped_;         // of each piece
    std::vector<PartResult> results_;
    std::uint64_t bound_length_ = 0;
    BucketBound bound_;
    ElementCode elements_;
    RecordBuilder record_;
    std::span<const std::byte> sealed_;
};

}  // namespace gradz
