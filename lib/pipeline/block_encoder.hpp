// Elements of one block to a BLOCK record, with what they cost and what they lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "container/record.hpp"
#include "pipeline/block_quantizer.hpp"
#include "pipeline/encode.hpp"

namespace gradz {

// Reused from block to block; one per worker. The bytes depend on nothing but the input.
class BlockEncoder {
public:
    explicit BlockEncoder(std::unique_ptr<BlockQuantizer> quantizer = make_cpu_quantizer())
        : quantizer_(std::move(quantizer)) {}

    // parts: of one scheme and dtype. The record is valid until the next call. Errc::nonfinite
    // (policy error) with `where` "element i".
    Result<Done> encode(std::span<const PartInput> parts, const BlockPlan& plan, NonFinite policy, StatsLevel level);

    std::span<const std::byte> record() const { return sealed_; }
    std::span<const PartResult> results() const { return results_; }  // one a part

private:
    Result<Done> apply_policy(std::span<const PartInput> parts, NonFinite policy);
    Result<Done> build(const BlockPlan& plan, StatsLevel level);
    Result<bool> build_symbols(const BlockPlan& plan, std::uint64_t element_bytes);
    Result<Done> build_elements(const BlockPlan& plan);
    void measure_lossless(StatsLevel level, bool count_as_escaped);
    void start(const BlockPlan& plan, std::uint8_t coding, std::uint64_t content, std::uint64_t first);
    void write_escapes(ByteWriter& body) const;
    void spread(std::uint64_t bytes, std::uint64_t PartResult::*field);
    void share(std::uint64_t code_bytes);

    const Scheme* scheme_ = nullptr;
    std::vector<PartInput> parts_;                 // after the policy
    std::vector<std::vector<std::byte>> cleaned_;  // copies with NaN and infinity replaced
    std::vector<std::uint64_t> replaced_;          // how many, of each part
    std::vector<std::byte> joined_, code_;
    std::unique_ptr<BlockQuantizer> quantizer_;
    CodedBlock block_;
    BlockMeter meter_;
    std::vector<PartResult> results_;
    ElementCode elements_;
    RecordBuilder record_;
    std::span<const std::byte> sealed_;
};

}  // namespace gradz
