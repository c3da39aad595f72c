#include "stats/figures.hpp"

#include <cmath>

#include "stats/figure.hpp"
#include "stats/log2.hpp"

namespace gradz {
namespace {

Figure quotient(double a, double b) {
    return std::isfinite(a) && std::isfinite(b) && b != 0 ? finite(a / b) : std::nullopt;
}

double real(std::uint64_t n) { return static_cast<double>(n); }

// The product first: sqrt(x x) is x, so that a perfect copy has exactly 1.
Figure cosine(const Sums& s) {
    const double product = s.norm2 * s.out2;
    if (product > 0 && std::isfinite(product)) return quotient(s.dot, std::sqrt(product));
    return quotient(s.dot, std::sqrt(s.norm2) * std::sqrt(s.out2));
}

void set_sizes(const Sums& s, const Bytes& bytes, Figures& f) {
    const double out = real(bytes.output), n = real(s.elements);
    f.ratio = quotient(real(bytes.input), out);
    f.ratio_fp32 = quotient(4 * n, out);
    f.ratio_fp16 = quotient(2 * n, out);
    f.bits_per_element = quotient(8 * out, n);
}

// variance and its bound stand for all of the tensor or not at all: a total over a nearest
// and a stochastic tensor has neither.
void set_errors(const Sums& s, Figures& f) {
    f.nmse = quotient(s.error2, s.norm2);
    if (s.coded > 0 && s.expected == s.coded) f.variance_exact = quotient(s.variance, s.norm2);
    if (s.coded > 0 && s.bounded == s.coded) f.variance_bound = quotient(s.variance_bound, s.norm2);
}

void set_details(const Sums& s, Figures& f) {
    constexpr double kDecibelPerOctave = 3.0102999566398120;  // 10 log10 2
    f.zeros_in = s.zeros_in;
    f.zeros_out = s.zeros_out;
    if (f.variance_exact) f.variance_sd = quotient(std::sqrt(s.fourth), s.norm2);
    f.cosine = cosine(s);
    if (f.nmse && *f.nmse > 0) f.snr_db = finite(-kDecibelPerOctave * portable_log2(*f.nmse));
    if (std::isfinite(s.error2)) f.max_abs_error = finite(s.max_abs_error);
    f.bias = quotient(s.bias, s.abs1);
    f.sign_agreement = quotient(real(s.sign_agreements), real(s.signs));
    f.nonzero_fraction = quotient(real(s.detailed - s.zeros_out), real(s.detailed));
    f.nonzero_bound = quotient(s.nonzero_bound, real(s.detailed));
}

}  // namespace

Figures make_figures(const Sums& sums, const Bytes& bytes) {
    Sums s;
    s.add_tensor(sums);  // closes the histogram
    Figures f;
    f.elements = s.elements;
    f.nonfinite = s.nonfinite;
    f.escaped = s.escaped;
    f.flushed = s.flushed;
    set_sizes(s, bytes, f);
    if (s.measured > 0) set_errors(s, f);
    if (s.detailed > 0 && s.detailed == s.measured) set_details(s, f);
    f.entropy_bits = quotient(s.entropy_bits, real(s.entropy_elements));
    return f;
}

}  // namespace gradz
