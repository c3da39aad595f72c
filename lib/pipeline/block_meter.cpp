#include "pipeline/block_meter.hpp"

#include <algorithm>
#include <cstring>

#include "quant/convert.hpp"
#include "stats/measure.hpp"

namespace gradz {
namespace {

// Elements of the whole bucket that holds element `first`.
std::uint64_t bucket_length(const PartInput& part, std::uint64_t first) {
    const std::uint64_t bucket = part.tensor->scheme->bucket(part.tensor->elements);
    return std::min(bucket, part.tensor->elements - first / bucket * bucket);
}

}  // namespace

const BucketBound& BlockMeter::bound(const Scheme& scheme, std::uint64_t length) {
    if (&scheme != bound_of_ || length != bound_length_) bound_ = scheme.bounds.of(length);
    bound_of_ = &scheme, bound_length_ = length;
    return bound_;
}

void BlockMeter::coded(const PartInput& part, std::uint64_t first, std::span<const std::byte> bytes,
                       std::span<const float> values, std::span<const std::byte> symbols, float S,
                       std::optional<double> norm2, StatsLevel level, Sums& sums) {
    if (level == StatsLevel::none) return;
    const Scheme& scheme = *part.tensor->scheme;
    const DType dtype = part.tensor->info->dtype;
    const std::size_t n = values.size();
    MeasureInput in;
    if (level == StatsLevel::error && dtype == DType::f32)
        in.error2 = scheme.quantizer->squared_error(values, symbols, S);
    if (!in.error2) in.y = decode(scheme, dtype, symbols, S, n);
    if (dtype == DType::f64) {
        originals_.resize(std::max(originals_.size(), n));
        std::memcpy(originals_.data(), bytes.data(), bytes.size());
        in.v64 = {originals_.data(), n};
    } else {
        in.v32 = values;
    }
    in.scale = S;
    in.norm2 = norm2;
    in.bucket = bucket_length(part, first);
    in.bound = bound(scheme, in.bucket);
    measure_coded(scheme.measure, in, level, sums);
}

std::span<const float> BlockMeter::decode(const Scheme& scheme, DType dtype, std::span<const std::byte> symbols,
                                          float S, std::size_t n) {
    decoded_.resize(std::max(decoded_.size(), n));
    const std::span decoded(decoded_.data(), n);
    // Symbols of our own making: decoding them cannot fail.
    [[maybe_unused]] const auto done = scheme.quantizer->decode(symbols, S, decoded);
    if (dtype == DType::f16 || dtype == DType::bf16) {  // errors are of what the file will hold
        const std::size_t bytes = n * size_of(dtype);
        rounded_.resize(std::max(rounded_.size(), bytes));
        from_float32(*scheme.kernels, dtype, decoded, {rounded_.data(), bytes});
        to_float32(*scheme.kernels, dtype, {rounded_.data(), bytes}, decoded);
    }
    return decoded;
}

void BlockMeter::exact(const PartInput& part, std::span<const std::byte> bytes, bool escaped, StatsLevel level,
                       Sums& sums) {
    if (level == StatsLevel::none) return;
    const kernels::Kernels& kernels = *part.tensor->scheme->kernels;
    const DType dtype = part.tensor->info->dtype;
    const std::size_t n = bytes.size() / size_of(dtype);
    if (!quantizable(dtype)) return measure_opaque(n, sums);
    if (dtype == DType::f64) {
        originals_.resize(std::max(originals_.size(), n));
        std::memcpy(originals_.data(), bytes.data(), bytes.size());
        return measure_exact(std::span<const double>(originals_.data(), n), escaped, level, sums);
    }
    decoded_.resize(std::max(decoded_.size(), n));
    to_float32(kernels, dtype, bytes, {decoded_.data(), n});
    measure_exact(std::span<const float>(decoded_.data(), n), escaped, level, sums);
}

}  // namespace gradz
