#include "pipeline/block_encoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/hash.hpp"
#include "pipeline/nonfinite.hpp"
#include "quant/convert.hpp"
#include "stats/measure.hpp"

namespace gradz {
namespace {

constexpr std::uint16_t kFixedId = 1;

kernels::PhiloxKey philox_key(std::uint64_t key) {
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

std::uint64_t bytes_of(std::span<const PartInput> parts) {
    std::uint64_t bytes = 0;
    for (const auto& part : parts) bytes += part.bytes.size();
    return bytes;
}

// Elements of the whole bucket that holds element `first`.
std::uint64_t bucket_length(const PartInput& part, std::uint64_t first) {
    const std::uint64_t bucket = part.tensor->scheme->bucket(part.tensor->elements);
    return std::min(bucket, part.tensor->elements - first / bucket * bucket);
}

const Coder& fixed_coder() {
    static const auto coder = coder_by_id(kFixedId);
    return *coder;
}

}  // namespace

Result<Done> BlockEncoder::encode(std::span<const PartInput> parts, const BlockPlan& plan, NonFinite policy,
                                  StatsLevel level) {
    if (scheme_ != parts[0].tensor->scheme.get()) bound_length_ = 0;  // the bound was another scheme's
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
    symbols_.clear(), escapes_.clear(), scales_.clear(), coded_.clear(), escaped_.clear();
    for (std::size_t i = 0; i < parts_.size(); ++i) encode_part(parts_[i], level, results_[i]);
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

void BlockEncoder::encode_part(const PartInput& part, StatsLevel level, PartResult& result) {
    const std::uint64_t bucket = scheme_->bucket(part.tensor->elements);
    for_each_piece({0, part.first, part.count}, bucket,
                   [&](std::uint64_t first, std::uint64_t count) { encode_piece(part, first, count, level, result); });
}

void BlockEncoder::encode_piece(const PartInput& part, std::uint64_t first, std::uint64_t count, StatsLevel level,
                                PartResult& result) {
    const Composition& quantizer = *scheme_->quantizer;
    const DType dtype = part.tensor->info->dtype;
    const std::size_t width = size_of(dtype);
    const auto bytes = part.bytes.subspan((first - part.first) * width, count * width);
    values_.resize(std::max<std::size_t>(values_.size(), count));
    const std::span values(values_.data(), count);
    const std::uint64_t flushed = to_float32(*scheme_->kernels, dtype, bytes, values);
    Scale scale{1.0f, false};
    if (!quantizer.has_scales()) scale.escaped = quantizer.cast_escapes(values, dtype);
    else if (!part.large.empty()) scale = part.large[first / scheme_->bucket(part.tensor->elements)];
    else scale = quantizer.scale(quantizer.norm_part(values), flushed > 0, dtype);
    escaped_.push_back(scale.escaped);
    if (scale.escaped) return escape(part, bytes, level, result);
    const std::size_t begin = symbols_.size();
    symbols_.resize(begin + count * (quantizer.alphabet() <= 256 ? 1 : 2));
    quantizer.encode(values, first, philox_key(part.tensor->key), scale.S, symbols_.data() + begin);
    coded_.push_back(static_cast<std::uint32_t>(count));
    if (quantizer.has_scales()) scales_.push_back(scale.S);
    result.scale += quantizer.has_scales() ? sizeof(float) : 0;
    if (level == StatsLevel::none) return;
    measure(part, first, bytes, values, std::span(symbols_).subspan(begin), scale.S, level, result.sums);
}

void BlockEncoder::measure(const PartInput& part, std::uint64_t first, std::span<const std::byte> bytes,
                           std::span<const float> values, std::span<const std::byte> symbols, float S, StatsLevel level,
                           Sums& sums) {
    const DType dtype = part.tensor->info->dtype;
    decoded_.resize(std::max(decoded_.size(), values.size()));
    const std::span decoded(decoded_.data(), values.size());
    // Symbols of our own making: decoding them cannot fail.
    [[maybe_unused]] const auto done = scheme_->quantizer->decode(symbols, S, decoded);
    if (dtype == DType::f16 || dtype == DType::bf16) {  // errors are of what the file will hold
        rounded_.resize(std::max(rounded_.size(), bytes.size()));
        from_float32(*scheme_->kernels, dtype, decoded, {rounded_.data(), bytes.size()});
        to_float32(*scheme_->kernels, dtype, {rounded_.data(), bytes.size()}, decoded);
    }
    if (dtype == DType::f64) {
        originals_.resize(std::max(originals_.size(), values.size()));
        std::memcpy(originals_.data(), bytes.data(), bytes.size());
    }
    const std::size_t n = values.size();
    MeasureInput in;
    if (dtype == DType::f64) in.v64 = {originals_.data(), n};
    else in.v32 = values;
    in.y = decoded;
    if (symbols.size() == n) in.symbols8 = {reinterpret_cast<const std::uint8_t*>(symbols.data()), n};
    else in.symbols16 = {reinterpret_cast<const std::uint16_t*>(symbols.data()), n};
    in.scale = S;
    in.bucket = bucket_length(part, first);
    if (in.bucket != bound_length_) bound_ = scheme_->bounds.of(bound_length_ = in.bucket);
    in.bound = bound_;
    measure_coded(scheme_->measure, in, level, sums);
}

void BlockEncoder::measure_exactly(const PartInput& part, std::span<const std::byte> bytes, bool escaped,
                                   StatsLevel level, Sums& sums) {
    const DType dtype = part.tensor->info->dtype;
    const std::size_t n = bytes.size() / size_of(dtype);
    if (!quantizable(dtype)) return measure_opaque(n, sums);
    if (dtype == DType::f64) {
        originals_.resize(std::max(originals_.size(), n));
        std::memcpy(originals_.data(), bytes.data(), bytes.size());
        return measure_exact(std::span<const double>(originals_.data(), n), escaped, level, sums);
    }
    decoded_.resize(std::max(decoded_.size(), n));
    to_float32(*scheme_->kernels, dtype, bytes, {decoded_.data(), n});
    measure_exact(std::span<const float>(decoded_.data(), n), escaped, level, sums);
}

void BlockEncoder::escape(const PartInput& part, std::span<const std::byte> bytes, StatsLevel level,
                          PartResult& result) {
    escapes_.insert(escapes_.end(), bytes.begin(), bytes.end());
    result.output += bytes.size();
    if (level == StatsLevel::none) return;
    measure_exactly(part, bytes, true, level, result.sums);
}

void BlockEncoder::measure_lossless(StatsLevel level, bool count_as_escaped) {
    for (std::size_t i = 0; i < parts_.size() && level != StatsLevel::none; ++i)
        measure_exactly(parts_[i], parts_[i].bytes, count_as_escaped, level, results_[i].sums);
}

void BlockEncoder::start(const BlockPlan& plan, std::uint8_t coding, std::uint64_t content, std::uint64_t first) {
    record_.start(RecordType::block);
    write_block_head({coding, first, plan.tensors, plan.chunk, content}, record_.bytes());
}

// Whether the symbols pay. The coder of the spec, or `fixed` where that is not longer.
Result<bool> BlockEncoder::build_symbols(const BlockPlan& plan, std::uint64_t element_bytes) {
    const Composition& quantizer = *scheme_->quantizer;
    const BlockShape shape{quantizer.kind(), quantizer.alphabet(), coded_};
    const std::uint64_t scale_bytes = scales_.size() * sizeof(float);
    const Coder* coder = scheme_->coder.get();
    code_.clear();
    GRADZ_TRY([[maybe_unused]] auto encoded, coder->encode(shape, symbols_, scales_, code_));
    const std::uint64_t fixed = fixed_bytes(shape.elements(), shape.alphabet);
    if (coder->id() != kFixedId && code_.size() >= fixed + (coder->carries_scales() ? scale_bytes : 0)) {
        coder = &fixed_coder();
        code_.clear();
        GRADZ_TRY([[maybe_unused]] auto again, coder->encode(shape, symbols_, scales_, code_));
    }
    const std::span scales = std::as_bytes(std::span(scales_));
    start(plan, static_cast<std::uint8_t>(kSymbols + coder->id()), xxh3_64({scales, symbols_, escapes_}),
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
    const auto escaped = static_cast<std::uint64_t>(std::count(escaped_.begin(), escaped_.end(), true));
    body.varint(escaped);
    if (escaped == 0) return;
    std::vector<std::byte> bitmap((escaped_.size() + 7) / 8);
    for (std::size_t i = 0; i < escaped_.size(); ++i)
        if (escaped_[i]) bitmap[i / 8] |= static_cast<std::byte>(1u << i % 8);
    body.bytes(bitmap);
    body.bytes(escapes_);
}

Result<Done> BlockEncoder::build_elements(const BlockPlan& plan) {
    std::span<const std::byte> bytes = parts_[0].bytes;
    if (parts_.size() > 1) {
        symbols_.clear();
        for (const auto& part : parts_) symbols_.insert(symbols_.end(), part.bytes.begin(), part.bytes.end());
        bytes = symbols_;
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
