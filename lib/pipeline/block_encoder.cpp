#include "pipeline/block_encoder.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "pipeline/nonfinite.hpp"

namespace gradz {
namespace {

constexpr std::uint16_t kFixedId = 1;

std::uint64_t bytes_of(std::span<const PartInput> parts) {
    std::uint64_t bytes = 0;
    for (const auto& part : parts) bytes += part.bytes.size();
    return bytes;
}

const Coder& fixed_coder() {
    static const auto coder = coder_by_id(kFixedId);
    return *coder;
}

}  // namespace

Result<Done> BlockEncoder::encode(std::span<const PartInput> parts, const BlockPlan& plan, NonFinite policy,
                                  StatsLevel level) {
    scheme_ = parts[0].tensor->scheme.get();
    GRADZ_TRY([[maybe_unused]] auto cleaned, apply_policy(parts, policy));
    results_.assign(parts.size(), PartResult{});
    GRADZ_TRY([[maybe_unused]] auto built, build(plan, level));
    for (std::size_t i = 0; i < parts.size(); ++i) results_[i].sums.nonfinite += replaced_[i];
    return Done{};
}

Result<Done> BlockEncoder::build(const BlockPlan& plan, StatsLevel level) {
    if (scheme_->lossless()) {
        measure_lossless(level, false);
        return build_elements(plan);
    }
    GRADZ_TRY([[maybe_unused]] auto quantized, quantizer_->quantize(parts_, level, block_, results_));
    GRADZ_TRY(const bool built, build_symbols(plan, bytes_of(parts_)));
    if (built) return Done{};
    results_.assign(parts_.size(), PartResult{});  // what was measured is not what will be decoded
    measure_lossless(level, true);
    return build_elements(plan);
}

// keep leaves NaN and infinity to the escapes of their buckets.
Result<Done> BlockEncoder::apply_policy(std::span<const PartInput> parts, NonFinite policy) {
    parts_.assign(parts.begin(), parts.end());
    replaced_.assign(parts.size(), 0);
    if (policy == NonFinite::keep || !quantizable(parts[0].tensor->info->dtype)) return Done{};
    cleaned_.resize(std::max(cleaned_.size(), parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const DType dtype = parts[i].tensor->info->dtype;
        if (policy == NonFinite::error) {
            const std::uint64_t at = find_nonfinite(parts[i].bytes, dtype, 0);
            if (at == parts[i].count) continue;
            return Error{Errc::nonfinite, "not a finite number",
                         "element " + std::to_string(parts[i].first + at) + " < tensor " + parts[i].tensor->info->name};
        }
        replaced_[i] = zero_nonfinite(parts[i].bytes, dtype, cleaned_[i]);
        if (replaced_[i] > 0) parts_[i].bytes = cleaned_[i];
    }
    return Done{};
}

void BlockEncoder::measure_lossless(StatsLevel level, bool count_as_escaped) {
    for (std::size_t i = 0; i < parts_.size() && level != StatsLevel::none; ++i)
        meter_.exact(parts_[i], parts_[i].bytes, count_as_escaped, level, results_[i].sums);
}

void BlockEncoder::start(const BlockPlan& plan, std::uint8_t coding, std::uint64_t content, std::uint64_t first) {
    record_.start(RecordType::block);
    write_block_head({coding, first, plan.tensors, plan.chunk, content}, record_.bytes());
}

// Whether the symbols pay. The coder of the spec, or `fixed` where that is not longer.
Result<bool> BlockEncoder::build_symbols(const BlockPlan& plan, std::uint64_t element_bytes) {
    const Composition& quantizer = *scheme_->quantizer;
    const BlockShape shape{quantizer.kind(), quantizer.alphabet(), block_.coded};
    const std::uint64_t scale_bytes = block_.scales.size() * sizeof(float);
    const Coder* coder = scheme_->coder.get();
    code_.clear();
    GRADZ_TRY([[maybe_unused]] auto encoded, coder->encode(shape, block_.symbols(), block_.scales, code_));
    const std::uint64_t fixed = fixed_bytes(shape.elements(), shape.alphabet);
    if (coder->id() != kFixedId && code_.size() >= fixed + (coder->carries_scales() ? scale_bytes : 0)) {
        coder = &fixed_coder();
        code_.clear();
        GRADZ_TRY([[maybe_unused]] auto again, coder->encode(shape, block_.symbols(), block_.scales, code_));
    }
    const std::span scales = std::as_bytes(std::span(block_.scales));
    start(plan, static_cast<std::uint8_t>(kSymbols + coder->id()), xxh3_64({scales, block_.symbols(), block_.escapes}),
          plan.parts[0].tensor);
    const std::size_t sections = record_.body_size();
    ByteWriter body(record_.bytes());
    write_escapes(body);
    if (!coder->carries_scales()) body.bytes(scales);
    body.bytes(code_);
    if (record_.body_size() - sections >= element_bytes) return false;
    GRADZ_TRY(sealed_, record_.finish());
    if (coder->carries_scales())
        for (auto& result : results_) result.scale = 0;  // they are part of the code
    share(code_.size());
    return true;
}

void BlockEncoder::write_escapes(ByteWriter& body) const {
    const auto escaped = static_cast<std::uint64_t>(std::count(block_.escaped.begin(), block_.escaped.end(), true));
    body.varint(escaped);
    if (escaped == 0) return;
    std::vector<std::byte> bitmap((block_.escaped.size() + 7) / 8);
    for (std::size_t i = 0; i < block_.escaped.size(); ++i)
        if (block_.escaped[i]) bitmap[i / 8] |= static_cast<std::byte>(1u << i % 8);
    body.bytes(bitmap);
    body.bytes(block_.escapes);
}

Result<Done> BlockEncoder::build_elements(const BlockPlan& plan) {
    std::span<const std::byte> bytes = parts_[0].bytes;
    if (parts_.size() > 1) {
        joined_.clear();
        for (const auto& part : parts_) joined_.insert(joined_.end(), part.bytes.begin(), part.bytes.end());
        bytes = joined_;
    }
    GRADZ_TRY([[maybe_unused]] auto encoded,
              encode_elements(bytes, size_of(parts_[0].tensor->info->dtype), scheme_->element_level, elements_));
    start(plan, elements_.id, xxh3_64(bytes), plan.parts[0].tensor);
    ByteWriter(record_.bytes()).bytes(elements_.bytes);
    GRADZ_TRY(sealed_, record_.finish());
    // Elements that a quantizer gave up on are no code of its symbols.
    if (!scheme_->lossless()) spread(elements_.bytes.size(), &PartResult::output);
    share(scheme_->lossless() ? elements_.bytes.size() : 0);
    return Done{};
}

// Bytes that a run has in common go to its tensors by their elements, so that all add up.
void BlockEncoder::spread(std::uint64_t bytes, std::uint64_t PartResult::*field) {
    std::uint64_t all = 0, seen = 0, given = 0;
    for (const auto& part : parts_) all += part.count;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        seen += parts_[i].count;
        const std::uint64_t upto = bytes * seen / all;  // below 2^26 * 2^19
        results_[i].*field += upto - given;
        given = upto;
    }
}

// output holds the escapes so far; what is left of the record is its frame.
void BlockEncoder::share(std::uint64_t code_bytes) {
    spread(code_bytes, &PartResult::code);
    std::uint64_t known = 0;
    for (auto& result : results_) known += result.output += result.code + result.scale;
    spread(sealed_.size() - known, &PartResult::header);
    for (auto& result : results_) result.output += result.header;
}

}  // namespace gradz
