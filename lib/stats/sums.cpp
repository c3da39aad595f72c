#include "stats/sums.hpp"

#include <algorithm>

#include "stats/log2.hpp"

namespace gradz {
namespace {

void add_all_but_histogram(Sums& to, const Sums& s) {
    for (const auto count : {&Sums::elements, &Sums::measured, &Sums::detailed, &Sums::coded, &Sums::expected,
                             &Sums::bounded, &Sums::escaped, &Sums::nonfinite, &Sums::flushed, &Sums::zeros_in,
                             &Sums::zeros_out, &Sums::signs, &Sums::sign_agreements, &Sums::entropy_elements})
        to.*count += s.*count;
    for (const auto sum : {&Sums::norm2, &Sums::error2, &Sums::variance, &Sums::variance_bound, &Sums::out2, &Sums::dot,
                           &Sums::bias, &Sums::abs1, &Sums::fourth, &Sums::nonzero_bound, &Sums::entropy_bits})
        to.*sum += s.*sum;
    to.max_abs_error = std::max(to.max_abs_error, s.max_abs_error);
}

}  // namespace

void Sums::add(const Sums& next) {
    add_all_but_histogram(*this, next);
    if (histogram.size() < next.histogram.size()) histogram.resize(next.histogram.size());
    for (std::size_t i = 0; i < next.histogram.size(); ++i) histogram[i] += next.histogram[i];
}

void Sums::add_tensor(const Sums& tensor) {
    add_all_but_histogram(*this, tensor);
    std::uint64_t n = 0;
    for (const auto count : tensor.histogram) n += count;
    double bits = 0;
    for (const auto count : tensor.histogram)
        if (count != 0) {
            const auto c = static_cast<double>(count);
            bits += c * portable_log2(static_cast<double>(n) / c);
        }
    entropy_elements += n;
    entropy_bits += bits;
}

}  // namespace gradz
