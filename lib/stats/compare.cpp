#include "stats/compare.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "stats/figure.hpp"
#include "stats/widen.hpp"

namespace gradz {
namespace {

std::uint64_t count_differing(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t size) {
    if (std::memcmp(a.data(), b.data(), a.size()) == 0) return 0;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < a.size(); i += size) count += std::memcmp(a.data() + i, b.data() + i, size) != 0;
    return count;
}

}  // namespace

void Comparison::add_chunk(DType a_type, std::span<const std::byte> a, DType b_type, std::span<const std::byte> b) {
    assert(a_type == b_type || (quantizable(a_type) && quantizable(b_type)));
    const std::size_t a_size = size_of(a_type), b_size = size_of(b_type), n = a.size() / a_size;
    assert(a.size() % a_size == 0 && b.size() == n * b_size);
    elements_ += n;
    if (n == 0) return;
    if (a_type == b_type) differing_ += count_differing(a, b, a_size);
    const std::size_t parts = doubles_per_element(a_type);
    if (parts == 0) return;
    const bool exact = a_type != DType::i64 && a_type != DType::u64;  // as doubles
    double x[kWidenBlock], y[kWidenBlock];
    const std::size_t block = kWidenBlock / parts;
    for (std::size_t i = 0; i < n; i += block) {
        const std::size_t count = std::min(block, n - i);
        const std::span<double> xs(x, count * parts), ys(y, count * parts);
        const auto a_bytes = a.subspan(i * a_size, count * a_size), b_bytes = b.subspan(i * b_size, count * b_size);
        widen(a_type, a_bytes, xs);
        widen(b_type, b_bytes, ys);
        if (a_type == b_type) add_doubles(xs, ys, a_bytes, b_bytes, exact);
        else {
            differing_ += count_differing(std::as_bytes(xs), std::as_bytes(ys), sizeof(double));
            add_doubles(xs, ys, std::as_bytes(xs), std::as_bytes(ys), true);
        }
    }
}

// Sums are kept in a copy of our own: through `this` every step would go through memory.
void Comparison::add_doubles(std::span<const double> a, std::span<const double> b, std::span<const std::byte> a_bytes,
                             std::span<const std::byte> b_bytes, bool exact) {
    const std::size_t size = a_bytes.size() / a.size();
    const auto same = [&](std::size_t i) {
        return std::memcmp(a_bytes.data() + i * size, b_bytes.data() + i * size, size) == 0;
    };
    Comparison sum = *this;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = a[i], y = b[i];
        double e = y - x;
        if (!std::isfinite(x) || !std::isfinite(y)) {
            sum.nonfinite_differing_ += !same(i);
            continue;
        }
        if (!exact && e == 0 && !same(i)) e = 1;  // integers that round to the same double: at least that
        ++sum.pairs_;
        sum.norm2_ += x * x;
        sum.out2_ += y * y;
        sum.dot_ += x * y;
        sum.error2_ += e * e;
        sum.max_abs_error_ = std::max(sum.max_abs_error_, std::abs(e));
    }
    *this = sum;
}

void Comparison::add(const Comparison& next) {
    elements_ += next.elements_;
    differing_ += next.differing_;
    nonfinite_differing_ += next.nonfinite_differing_;
    pairs_ += next.pairs_;
    norm2_ += next.norm2_;
    out2_ += next.out2_;
    dot_ += next.dot_;
    error2_ += next.error2_;
    max_abs_error_ = std::max(max_abs_error_, next.max_abs_error_);
}

std::optional<double> Comparison::nmse() const {
    if (!(norm2_ > 0) || !std::isfinite(norm2_)) return std::nullopt;
    return finite(error2_ / norm2_);
}

std::optional<double> Comparison::cosine() const {
    const double product = norm2_ * out2_;
    if (product > 0 && std::isfinite(product)) return finite(dot_ / std::sqrt(product));
    return finite(dot_ / (std::sqrt(norm2_) * std::sqrt(out2_)));
}

std::optional<double> Comparison::max_abs_error() const { return pairs_ ? finite(max_abs_error_) : std::nullopt; }

bool Comparison::within(double max_nmse) const {
    if (identical()) return true;
    if (nonfinite_differing_ > 0 || pairs_ == 0 || !std::isfinite(norm2_)) return false;
    if (norm2_ == 0) return max_abs_error_ == 0;  // -0 for +0
    return error2_ <= max_nmse * norm2_;
}

}  // namespace gradz
