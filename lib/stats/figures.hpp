// The figures of reports, made of sums. The keys are those of the JSON and CSV.
#pragma once

#include <cstdint>
#include <optional>

#include "stats/sums.hpp"

namespace gradz {

// What a tensor, a file or a total takes.
struct Bytes {
    std::uint64_t input = 0;   // elements times their size
    std::uint64_t output = 0;  // its share of all records
    std::uint64_t code = 0;    // symbols as coded
    std::uint64_t scale = 0;
    std::uint64_t header = 0;

    bool operator==(const Bytes&) const = default;
    void add(const Bytes& b) {
        input += b.input, output += b.output, code += b.code, scale += b.scale, header += b.header;
    }
};

// Nothing where a figure has no meaning (0 / 0, an infinite sum) or was not asked for.
struct Figures {
    std::uint64_t elements = 0, nonfinite = 0, escaped = 0, flushed = 0;
    std::optional<std::uint64_t> zeros_in, zeros_out;

    std::optional<double> ratio;       // input / output
    std::optional<double> ratio_fp32;  // 4 elements / output
    std::optional<double> ratio_fp16;  // 2 elements / output
    std::optional<double> bits_per_element;
    std::optional<double> entropy_bits;  // order 0, over coded elements

    std::optional<double> nmse;            // ||y - v||^2 / ||v||^2
    std::optional<double> variance_exact;  // the expectation of nmse over the random bits
    std::optional<double> variance_bound;  // its largest value for any tensor of these norms
    std::optional<double> variance_sd;     // the standard deviation of nmse

    std::optional<double> cosine;            // <v, y> / ||v|| ||y||
    std::optional<double> snr_db;            // -10 log10 nmse; none for a perfect copy
    std::optional<double> max_abs_error;     // in the unit of v
    std::optional<double> bias;              // sum (y - v) / sum |v|
    std::optional<double> sign_agreement;    // share of v != 0 that keep their sign
    std::optional<double> nonzero_fraction;  // share of elements that come back other than 0
    std::optional<double> nonzero_bound;     // an upper bound on its expectation
};

// sums: of a tensor, or a total made by Sums::add_tensor.
Figures make_figures(const Sums& sums, const Bytes& bytes);

}  // namespace gradz
