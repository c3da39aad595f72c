#include "stats/measure.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

namespace gradz {
namespace {

using kernels::ErrorBucket;
using kernels::ErrorCounts;
using kernels::ErrorTerms;
using kernels::SingleDouble;

// Largest finite value of the type, as a test that vectorizes; NaN fails it.
template <class T>
bool is_finite(T x) {
    return std::abs(x) <= std::numeric_limits<T>::max();
}

template <class T>
std::uint64_t count_nonfinite(std::span<const T> v) {
    std::uint64_t count = 0;
    for (const T x : v) count += !is_finite(x);
    return count;
}

// The kernel's largest magnitude is NaN or infinite if any value is.
bool all_finite(const kernels::Kernels& k, std::span<const float> v) {
    return is_finite(k.max_abs(v.data(), v.size()));
}
bool all_finite(const kernels::Kernels&, std::span<const double> v) { return count_nonfinite(v) == 0; }

// float64 alone: float32 holds its own values.
std::uint64_t count_flushed(std::span<const double> v) {
    std::uint64_t count = 0;
    for (const double x : v) count += (x != 0) & (static_cast<float>(x) == 0);
    return count;
}
std::uint64_t count_flushed(std::span<const float>) { return 0; }

// Four histograms in turn: increments of one bin wait for each other.
template <class T>
void count_any(std::span<const T> symbols, std::uint32_t alphabet, std::uint64_t* total) {
    std::vector<std::uint32_t> part(4 * std::size_t{alphabet});
    std::size_t i = 0;
    for (; i + 4 <= symbols.size(); i += 4)
        for (std::size_t k = 0; k < 4; ++k) ++part[4 * symbols[i + k] + k];
    for (; i < symbols.size(); ++i) ++total[symbols[i]];
    for (std::size_t s = 0; s < part.size(); ++s) total[s / 4] += part[s];
}

template <class T>
void count_span(const MeasureScheme& scheme, std::span<const T> symbols, Sums& sums) {
    constexpr std::uint32_t kFew = 16;
    constexpr std::size_t kMost = std::size_t{1} << 30;  // of a 32-bit count
    if (symbols.empty()) return;
    if (sums.histogram.size() < scheme.alphabet) sums.histogram.resize(scheme.alphabet);
    for (std::size_t i = 0; i < symbols.size(); i += kMost) {
        const auto some = symbols.subspan(i, std::min(kMost, symbols.size() - i));
        if constexpr (sizeof(T) == 1) {
            if (scheme.alphabet <= kFew) {
                scheme.kernels->count_few(some.data(), some.size(), static_cast<std::int32_t>(scheme.alphabet),
                                          sums.histogram.data());
                continue;
            }
        }
        count_any(some, scheme.alphabet, sums.histogram.data());
    }
}

double squares(const kernels::Kernels& k, std::span<const float> v) { return k.sum_squares(v.data(), v.size()); }
double squares(const kernels::Kernels& k, std::span<const double> v) { return k.sum_squares_f64(v.data(), v.size()); }

double error2(const kernels::Kernels& k, std::span<const float> v, std::span<const float> y) {
    return k.error2_f32(v.data(), y.data(), v.size());
}
double error2(const kernels::Kernels& k, std::span<const double> v, std::span<const float> y) {
    return k.error2_f64(v.data(), y.data(), v.size());
}
void run(const kernels::Kernels& k, std::span<const float> v, const ErrorBucket& b, ErrorTerms<SingleDouble>* terms,
         ErrorCounts* counts) {
    k.details_f32(v.data(), b, terms, counts);
}
void run(const kernels::Kernels& k, std::span<const double> v, const ErrorBucket& b, ErrorTerms<SingleDouble>* terms,
         ErrorCounts* counts) {
    k.details_f64(v.data(), b, terms, counts);
}

void add_details(const ErrorTerms<SingleDouble>& terms, const ErrorCounts& counts, std::size_t n, double scale2,
                 double norm2, Sums& sums) {
    sums.fourth += scale2 * scale2 * terms.fourth;
    sums.out2 += terms.out2;
    sums.dot += (norm2 + terms.out2 - terms.error2) / 2;  // of (y - v)^2 = y^2 - 2 v y + v^2
    sums.bias += terms.bias;
    sums.abs1 += terms.abs1;
    sums.max_abs_error = std::max(sums.max_abs_error, terms.worst);
    const auto zeros_in = static_cast<std::uint64_t>(counts.zeros_in);
    sums.zeros_in += zeros_in;
    sums.zeros_out += static_cast<std::uint64_t>(counts.zeros_out);
    sums.signs += n - zeros_in;
    sums.sign_agreements += static_cast<std::uint64_t>(counts.agreements);
}

// A bucket with scale 0 is all offset: nothing is random, and nothing is expected to be lost.
template <class T>
void measure_details(const MeasureScheme& scheme, const MeasureInput& in, std::span<const T> v,
                     std::span<const float> y, double norm2, Sums& sums) {
    const bool expected = scheme.stochastic && !scheme.levels.empty();
    ErrorBucket b = expected && in.scale != 0 ? scheme.levels.bucket(in.scale, in.offset) : ErrorBucket{};
    b.y = y.data();
    b.n = v.size();
    b.bounded = !scheme.clips && in.offset == 0 && b.reduction.mask == kernels::kSignless;
    ErrorTerms<SingleDouble> terms;
    ErrorCounts counts{};
    run(*scheme.kernels, v, b, &terms, &counts);
    const double scale2 = static_cast<double>(in.scale) * static_cast<double>(in.scale);
    sums.error2 += terms.error2;
    sums.variance += scale2 * terms.variance;
    add_details(terms, counts, v.size(), scale2, norm2, sums);
}

template <class T>
void measure_finite(const MeasureScheme& scheme, const MeasureInput& in, std::span<const T> v, std::span<const float> y,
                    StatsLevel level, Sums& sums) {
    const double norm2 = in.norm2 && v.size() == in.v32.size() ? *in.norm2 : squares(*scheme.kernels, v);
    sums.norm2 += norm2;
    if (in.bound.variance) sums.variance_bound += *in.bound.variance * norm2;
    if (level == StatsLevel::full) measure_details(scheme, in, v, y, norm2, sums);
    else sums.error2 += in.error2 ? *in.error2 : error2(*scheme.kernels, v, y);
}

// Exceptions are rare and only in whole-tensor stages: copying costs nobody anything.
template <class T>
void measure_rest(const MeasureScheme& scheme, const MeasureInput& in, std::span<const T> v, StatsLevel level,
                  Sums& sums) {
    std::vector<T> finite_v;
    std::vector<float> finite_y;
    for (std::size_t i = 0; i < v.size(); ++i)
        if (is_finite(v[i])) finite_v.push_back(v[i]), finite_y.push_back(in.y[i]);
    measure_finite<T>(scheme, in, finite_v, finite_y, level, sums);
}

template <class T>
void measure_values(const MeasureScheme& scheme, const MeasureInput& in, std::span<const T> v, StatsLevel level,
                    Sums& sums) {
    sums.elements += v.size();
    sums.coded += v.size();
    sums.flushed += count_flushed(v);
    if (level == StatsLevel::none) return;
    const bool clean = in.error2 || (in.norm2 && is_finite(*in.norm2)) || all_finite(*scheme.kernels, v);
    sums.measured += v.size();
    if (!clean) sums.nonfinite += count_nonfinite(v);
    if (in.bound.variance) sums.bounded += v.size();
    if (clean) measure_finite(scheme, in, v, in.y, level, sums);
    else measure_rest(scheme, in, v, level, sums);
    if (level != StatsLevel::full) return;
    sums.detailed += v.size();
    if (scheme.stochastic && !scheme.levels.empty()) sums.expected += v.size();
    const auto n = static_cast<double>(v.size());
    sums.nonzero_bound += in.bound.nonzeros * (in.bucket ? n / static_cast<double>(in.bucket) : 1.0);
}

constexpr std::size_t kLanes = kernels::kErrorLanes;

double folded(double (&lane)[kLanes]) {
    for (std::size_t width = kLanes / 2; width > 0; width /= 2)
        for (std::size_t k = 0; k < width; ++k) lane[k] += lane[k + width];
    return lane[0];
}

struct ExactSums {
    double norm2, abs1;
};

template <class T>
ExactSums sum_finite(std::span<const T> v) {
    double norm2[kLanes] = {}, abs1[kLanes] = {};
    const auto add = [&](std::size_t k, T value) {
        const double x = is_finite(value) ? static_cast<double>(value) : 0.0;
        norm2[k] += x * x;
        abs1[k] += std::abs(x);
    };
    std::size_t i = 0;
    for (; i + kLanes <= v.size(); i += kLanes)
        for (std::size_t k = 0; k < kLanes; ++k) add(k, v[i + k]);
    for (std::size_t k = 0; i < v.size(); ++i, ++k) add(k, v[i]);
    return {folded(norm2), folded(abs1)};
}

template <class T>
void measure_same(std::span<const T> v, bool escaped, StatsLevel level, Sums& sums) {
    sums.elements += v.size();
    if (escaped) sums.escaped += v.size();
    const std::uint64_t bad = count_nonfinite(v);
    sums.nonfinite += bad;
    if (level == StatsLevel::none) return;
    sums.measured += v.size();
    const ExactSums exact = sum_finite(v);
    sums.norm2 += exact.norm2;
    if (level == StatsLevel::error) return;
    sums.detailed += v.size();
    std::uint64_t zeros = 0;
    for (const T x : v) zeros += x == 0;
    sums.zeros_in += zeros;
    sums.zeros_out += zeros;
    sums.signs += v.size() - zeros - bad;
    sums.sign_agreements += v.size() - zeros - bad;
    sums.out2 += exact.norm2;
    sums.dot += exact.norm2;
    sums.abs1 += exact.abs1;
    sums.nonzero_bound += static_cast<double>(v.size() - zeros);
}

}  // namespace

void measure_coded(const MeasureScheme& scheme, const MeasureInput& in, StatsLevel level, Sums& sums) {
    assert(in.v32.empty() || in.v64.empty());
    assert(in.y.size() == in.v32.size() + in.v64.size() || (in.error2 && level != StatsLevel::full));
    if (in.v64.empty()) measure_values(scheme, in, in.v32, level, sums);
    else measure_values(scheme, in, in.v64, level, sums);
}

void count_symbols(const MeasureScheme& scheme, std::span<const std::byte> symbols, Sums& sums) {
    if (scheme.alphabet <= 256)
        return count_span(scheme, std::span(reinterpret_cast<const std::uint8_t*>(symbols.data()), symbols.size()),
                          sums);
    return count_span(scheme, std::span(reinterpret_cast<const std::uint16_t*>(symbols.data()), symbols.size() / 2),
                      sums);
}

void measure_exact(std::span<const float> v, bool escaped, StatsLevel level, Sums& sums) {
    measure_same(v, escaped, level, sums);
}
void measure_exact(std::span<const double> v, bool escaped, StatsLevel level, Sums& sums) {
    measure_same(v, escaped, level, sums);
}

}  // namespace gradz
