// How two tensors of the same shape differ: `gradz diff`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/tensor.hpp"

namespace gradz {

// Sums over pairs of elements, a the reference. Chunks are merged in order, so that the
// sums have the same bits for any number of threads.
class Comparison {
public:
    // The next chunk: the same number of whole elements, little-endian. The same dtype, or
    // two of float32, float64, float16 and bfloat16, which are compared as float64.
    void add_chunk(DType a_type, std::span<const std::byte> a, DType b_type, std::span<const std::byte> b);
    void add(const Comparison& next);

    std::uint64_t elements() const { return elements_; }

    // Elements that are not the same bit for bit (of float64 where the dtypes differ): +0 is
    // not -0, and a NaN is only itself.
    std::uint64_t differing() const { return differing_; }
    bool identical() const { return differing_ == 0; }

    // Of the differing ones, those with a value that is not finite: they have no distance,
    // and no figure below speaks of them.
    std::uint64_t nonfinite_differing() const { return nonfinite_differing_; }

    // Over pairs that are finite on both sides; nothing where it has no meaning, and for
    // 8-bit floats, which are compared as bytes. Complex numbers count as pairs.
    std::optional<double> nmse() const;  // ||b - a||^2 / ||a||^2
    std::optional<double> cosine() const;
    std::optional<double> max_abs_error() const;

    // ||b - a||^2 <= max_nmse ||a||^2, and no non-finite value differs. Identical tensors
    // are within anything, zero norm or not; 8-bit floats only if they are identical.
    bool within(double max_nmse) const;

private:
    // The bytes are what a and b were widened from, or their own; exact: without rounding.
    void add_doubles(std::span<const double> a, std::span<const double> b, std::span<const std::byte> a_bytes,
                     std::span<const std::byte> b_bytes, bool exact);

    std::uint64_t elements_ = 0, differing_ = 0, nonfinite_differing_ = 0;
    std::uint64_t pairs_ = 0;  // finite ones
    double norm2_ = 0, out2_ = 0, dot_ = 0, error2_ = 0, max_abs_error_ = 0;
};

}  // namespace gradz
