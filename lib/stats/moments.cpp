#include "stats/moments.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "stats/figure.hpp"
#include "stats/widen.hpp"

namespace gradz {
namespace {

// A bin is the exponent and the first seven mantissa bits: 2^-7 wide relative to its lower
// end, so that its middle is within 2^-8 of every value in it.
constexpr int kBinShift = 23 - 7;
constexpr std::size_t kBins = std::size_t{0x7f800000} >> kBinShift;  // of finite values

std::size_t bin_of(double magnitude) {
    const auto x = static_cast<float>(std::min(magnitude, double{std::numeric_limits<float>::max()}));
    return std::bit_cast<std::uint32_t>(x) >> kBinShift;
}

double middle(std::size_t bin) {
    const auto low = static_cast<std::uint32_t>(bin) << kBinShift;
    return std::bit_cast<float>(low + (1u << (kBinShift - 1)));
}

// A zero of an 8-bit float; e8m0 has none, and in the fnuz types 0x80 is a NaN.
bool is_zero(DType dtype, std::byte code) {
    if (dtype == DType::f8_e8m0) return false;
    const bool negative_zero = dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2;
    return code == std::byte{0} || (negative_zero && code == std::byte{0x80});
}

std::uint64_t count_zeros(std::span<const double> v, std::size_t parts) {
    std::uint64_t zeros = 0;
    for (std::size_t i = 0; i < v.size(); i += parts) zeros += v[i] == 0 && v[i + parts - 1] == 0;
    return zeros;
}

}  // namespace

void Moments::Central::add(const Central& b) {
    if (b.n == 0) return;
    if (n == 0) {
        *this = b;
        return;
    }
    const double na = n, nb = b.n, total = na + nb, d = b.mean - mean, dn = d / total;
    const double product = na * nb;
    m4 += b.m4 + d * dn * dn * dn * product * (na * na - product + nb * nb) +
          6 * dn * dn * (na * na * b.m2 + nb * nb * m2) + 4 * dn * (na * b.m3 - nb * m3);
    m3 += b.m3 + d * dn * dn * product * (na - nb) + 3 * dn * (na * b.m2 - nb * m2);
    m2 += b.m2 + d * dn * product;
    mean += nb * dn;
    n = total;
}

// Squares of what lies between the limits, and 2^60 of them added up, are normal doubles.
void Moments::Squares::add(double magnitude) {
    if (magnitude > 0x1p450) huge += magnitude * 0x1p-600 * (magnitude * 0x1p-600);
    else if (magnitude < 0x1p-450) tiny += magnitude * 0x1p600 * (magnitude * 0x1p600);
    else normal += magnitude * magnitude;
}

void Moments::Squares::add(const Squares& s) {
    tiny += s.tiny;
    normal += s.normal;
    huge += s.huge;
}

double Moments::Squares::root() const {
    if (huge > 0) return std::sqrt(huge + normal * 0x1p-600 * 0x1p-600) * 0x1p600;
    if (normal > 0) return std::sqrt(normal);  // what is tiny does not show beside it
    return std::sqrt(tiny) * 0x1p-600;
}

// Sums go through locals: through `this` every step would go through memory.
void Moments::add_magnitudes(std::span<const double> v) {
    double l1 = 0, top = linf_, least = smallest_ > 0 ? smallest_ : std::numeric_limits<double>::infinity();
    Squares squares;
    std::uint64_t* const histogram = histogram_.data();
    for (const double x : v) {
        const double magnitude = std::abs(x);
        l1 += magnitude;
        squares.add(magnitude);
        top = std::max(top, magnitude);
        if (magnitude > 0) least = std::min(least, magnitude);
        ++histogram[bin_of(magnitude)];
    }
    l1_ += l1;
    squares_.add(squares);
    linf_ = top;
    if (std::isfinite(least)) smallest_ = least;
}

void Moments::add_finite(std::span<const double> v) {
    if (v.empty()) return;
    const auto n = static_cast<double>(v.size());
    double sum = 0, least = v[0], most = v[0];
    std::uint64_t zeros = 0;
    for (const double x : v) {
        sum += x;
        least = std::min(least, x);
        most = std::max(most, x);
        zeros += x == 0;
    }
    min_ = finite_ ? std::min(min_, least) : least;
    max_ = finite_ ? std::max(max_, most) : most;
    finite_ += v.size();
    zeros_ += zeros;
    sum_ += sum;
    double m2 = 0, m3 = 0, m4 = 0;
    const double mean = sum / n;
    for (const double x : v) {
        const double d = x - mean, d2 = d * d;
        m2 += d2;
        m3 += d2 * d;
        m4 += d2 * d2;
    }
    central_.add({n, mean, m2, m3, m4});
    add_magnitudes(v);
}

void Moments::add_block(std::span<const double> v) {
    double kept[kWidenBlock];
    std::size_t n = 0;
    std::uint64_t nan = 0;
    for (const double x : v) {
        kept[n] = x;
        n += std::isfinite(x);
        nan += std::isnan(x);
    }
    nan_ += nan;
    inf_ += v.size() - n - nan;
    add_finite(std::span(kept).first(n));
}

void Moments::add_chunk(DType dtype, std::span<const std::byte> bytes) {
    const std::size_t size = size_of(dtype), n = bytes.size() / size, parts = doubles_per_element(dtype);
    assert(bytes.size() % size == 0);
    count_ += n;
    if (parts == 0) {
        for (const std::byte code : bytes) zeros_ += is_zero(dtype, code);
        return;
    }
    if (quantizable(dtype) && histogram_.empty()) histogram_.resize(kBins);
    double v[kWidenBlock];
    const std::size_t block = kWidenBlock / parts;
    for (std::size_t i = 0; i < n; i += block) {
        const std::size_t count = std::min(block, n - i);
        const std::span<double> values(v, count * parts);
        widen(dtype, bytes.subspan(i * size, count * size), values);
        if (quantizable(dtype)) add_block(values);
        else zeros_ += count_zeros(values, parts);
    }
}

void Moments::add(const Moments& next) {
    if (next.finite_ > 0) {
        min_ = finite_ ? std::min(min_, next.min_) : next.min_;
        max_ = finite_ ? std::max(max_, next.max_) : next.max_;
    }
    if (next.smallest_ > 0) smallest_ = smallest_ > 0 ? std::min(smallest_, next.smallest_) : next.smallest_;
    linf_ = std::max(linf_, next.linf_);
    count_ += next.count_;
    zeros_ += next.zeros_;
    nan_ += next.nan_;
    inf_ += next.inf_;
    finite_ += next.finite_;
    sum_ += next.sum_;
    l1_ += next.l1_;
    squares_.add(next.squares_);
    central_.add(next.central_);
    if (histogram_.size() < next.histogram_.size()) histogram_.resize(next.histogram_.size());
    for (std::size_t i = 0; i < next.histogram_.size(); ++i) histogram_[i] += next.histogram_[i];
}

double Moments::quantile(double share) const {
    const auto wanted =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(finite_))));
    if (wanted <= zeros_) return 0;
    std::uint64_t below = 0;
    for (std::size_t bin = 0; bin < histogram_.size(); ++bin) {
        below += histogram_[bin];
        if (below >= wanted) return std::clamp(middle(bin), smallest_, linf_);
    }
    return linf_;
}

void Moments::set_quantiles(MomentFigures& f) const {
    f.p1 = quantile(0.01);
    f.p10 = quantile(0.1);
    f.p50 = quantile(0.5);
    f.p90 = quantile(0.9);
    f.p99 = quantile(0.99);
}

MomentFigures Moments::figures() const {
    MomentFigures f;
    f.count = count_;
    f.zeros = zeros_;
    f.nan = nan_;
    f.inf = inf_;
    if (finite_ == 0) return f;
    const auto n = static_cast<double>(finite_);
    f.l1 = finite(l1_);
    f.l2 = finite(squares_.root());
    f.linf = linf_;
    f.min = min_;
    f.max = max_;
    f.mean = finite(sum_ / n);
    const double variance = central_.m2 / n;
    f.std = finite(std::sqrt(variance));
    f.skewness = finite(central_.m3 / n / (variance * std::sqrt(variance)));
    f.kurtosis = finite(central_.m4 / n / (variance * variance));
    if (smallest_ > 0) {
        f.smallest = smallest_;
        f.dynamic_range = finite(linf_ / smallest_);
    }
    set_quantiles(f);
    return f;
}

}  // namespace gradz
