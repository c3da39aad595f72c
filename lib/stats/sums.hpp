// Everything about compressed tensors that adds up over buckets and chunks. Figures are
// made of it at the end (figures.hpp).
//
// Sums are doubles, and their order is fixed, so that statistics have the same bits for any
// number of threads and on every target: within a bucket by the kernels, buckets of a chunk
// in order, chunks of a tensor in order, tensors in order.
#pragma once

#include <cstdint>
#include <vector>

namespace gradz {

enum class StatsLevel : std::uint8_t {
    none,   // what is counted anyway
    error,  // nmse beside its bound: the default line
    full,   // all
};

struct Sums {
    // Elements. Those that are lossless because of their dtype are in `elements` alone.
    std::uint64_t elements = 0;
    std::uint64_t measured = 0;  // with the sums of StatsLevel::error, non-finite ones included
    std::uint64_t detailed = 0;  // with those of StatsLevel::full
    std::uint64_t coded = 0;     // as symbols, so that something is lost
    std::uint64_t expected = 0;  // coded, with `variance`
    std::uint64_t bounded = 0;   // coded, with `variance_bound`
    std::uint64_t escaped = 0;   // stored bit for bit since the scheme cannot represent them
    std::uint64_t nonfinite = 0;
    std::uint64_t flushed = 0;  // float64, not zero, but zero in float32

    // Over finite elements; v is the original value, y what comes back.
    double norm2 = 0;           // v^2
    double error2 = 0;          // (y - v)^2
    double variance_bound = 0;  // omega ||v_b||^2 over buckets

    // StatsLevel::full only.
    std::uint64_t zeros_in = 0, zeros_out = 0;     // v = 0, y = 0
    std::uint64_t signs = 0, sign_agreements = 0;  // v != 0; y has its sign and is not 0
    double out2 = 0;                               // y^2
    double dot = 0;                                // v y
    double bias = 0;                               // y - v
    double abs1 = 0;                               // |v|
    double variance = 0;                           // E (y - v)^2
    double fourth = 0;                             // Var (y - v)^2
    double nonzero_bound = 0;                      // an upper bound on the expected number of y != 0
    double max_abs_error = 0;
    std::vector<std::uint64_t> histogram;  // coded elements by symbol; shorter ones end in zeros

    // What is left of the histograms of tensors that were closed.
    std::uint64_t entropy_elements = 0;
    double entropy_bits = 0;  // order-0 entropy times elements

    bool operator==(const Sums&) const = default;

    // The next chunk (or bucket) of the same tensor.
    void add(const Sums& next);

    // A whole tensor to a total: the entropy of a total is the mean over its elements, since
    // a pooled histogram would mix symbols of different meaning.
    void add_tensor(const Sums& tensor);
};

}  // namespace gradz
