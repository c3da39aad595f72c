// What `gradz stats` says of one tensor: norms, moments, quantiles of the magnitude.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/tensor.hpp"

namespace gradz {

// Over finite elements; nothing where it has no meaning. Only count and zeros for dtypes
// that are not quantized (integers, bool, complex, 8-bit floats).
struct MomentFigures {
    std::uint64_t count = 0, zeros = 0, nan = 0, inf = 0;
    std::optional<double> l1, l2, linf, min, max;
    std::optional<double> mean, std;      // of the population: divided by n
    std::optional<double> skewness;       // m3 / m2^1.5
    std::optional<double> kurtosis;       // m4 / m2^2: 3 for a normal distribution
    std::optional<double> smallest;       // the least |v| that is not 0
    std::optional<double> dynamic_range;  // linf / smallest

    // Quantiles of |v|, zeros included: the least |v| with at least that share of the
    // elements at or below it, to a relative 2^-8 where it is a normal float32, else to an
    // absolute 2^-134; of float64 beyond float32 only that it is out there.
    std::optional<double> p1, p10, p50, p90, p99;
};

// One pass, mergeable: chunks in order give the same bits for any number of threads.
class Moments {
public:
    // The next chunk of the tensor: whole elements, little-endian, any alignment.
    void add_chunk(DType dtype, std::span<const std::byte> bytes);
    void add(const Moments& next);
    MomentFigures figures() const;

private:
    // Central sums, so that nothing cancels, merged as in Pebay (SAND2008-6212, 2008).
    struct Central {
        double n = 0, mean = 0, m2 = 0, m3 = 0, m4 = 0;
        void add(const Central& b);
    };
    // Sums of squares in three ranges of magnitude, so that none over- or underflows where
    // the norm itself does not (Blue, ACM TOMS 4(1), 1978).
    struct Squares {
        double tiny = 0, normal = 0, huge = 0;
        void add(double magnitude);
        void add(const Squares& s);
        double root() const;
    };

    void add_block(std::span<const double> v);
    void add_finite(std::span<const double> v);
    void add_magnitudes(std::span<const double> v);
    double quantile(double share) const;
    void set_quantiles(MomentFigures& f) const;

    std::uint64_t count_ = 0, zeros_ = 0, nan_ = 0, inf_ = 0, finite_ = 0;
    double sum_ = 0, l1_ = 0, linf_ = 0, min_ = 0, max_ = 0, smallest_ = 0;
    Squares squares_;
    Central central_;
    std::vector<std::uint64_t> histogram_;  // of the upper bits of |v| as float32; empty: no values
};

}  // namespace gradz
