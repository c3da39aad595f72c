// The kernels as the rest of the library sees them: one table per target. Fixed-width
// types only, since target.cpp includes this: a std:: template instantiated there could
// leak AVX code into the rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/error_element.hpp"
#include "kernels/philox_element.hpp"

namespace gradz::kernels {

constexpr std::size_t kSpan = 65536;

struct Bucket {
    const float* x;  // [n], all finite
    std::size_t n;
    std::uint64_t first;  // place of x[0] in its tensor, and so in the random stream
    PhiloxKey key;        // of the tensor
    float S;              // normal and positive; others are the caller's escapes
};

constexpr int kErrorLanes = 8;  // of every sum of errors

// How the neighbours of r are found.
enum class GapRule : std::uint8_t {
    none,      // no expectation: nearest rounding, or no levels at all
    doubling,  // magnitudes 2^(k - m)
    even,      // magnitudes k step, with zero
    search,    // any table
};

struct LevelSearch {
    const double* levels;  // ascending: all that r may lie between
    const double* keys;    // the same without the last, +infinity from there on; [2 reach]
    std::int64_t reach;    // a power of two with 2 reach >= number of levels - 1; 0: one gap
};

// What the sums over one bucket need beside the original values.
struct ErrorBucket {
    const float* y;  // [n] decoded, finite
    std::size_t n;
    GapRule rule;
    Reduction reduction;
    double first, bottom;  // doubling: l_1 and the neighbour below it; even: first is the step
    double per_step;       // even: 1 / step
    LevelSearch search;    // search only
};

struct Kernels {
    const char* target;  // "scalar", "avx2", "avx512": also the value of GRADZ_TARGET
    int vector_bytes;    // from the compiler's own macros: proves the flags of this object
    double (*sum_squares)(const float* x, std::size_t n);
    float (*max_abs)(const float* x, std::size_t n);
    // m: non-zero magnitudes, 1..127. symbols: [n], see signed_symbol.
    void (*quantize_exponential)(const Bucket& in, std::int32_t m, std::uint8_t* symbols);
    void (*quantize_uniform)(const Bucket& in, std::int32_t m, std::uint8_t* symbols);
    void (*pack4)(const std::uint8_t* symbols, std::size_t n, std::uint8_t* bytes);
    std::int32_t (*decode)(const std::uint8_t* symbols, std::size_t n, const float* table, float S, float* x);
    // Of the bucket's original values v [n], finite: norm2, error2, variance. details_*: all
    // terms, those three with the same bits.
    void (*errors_f32)(const float* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out);
    void (*errors_f64)(const double* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out);
    void (*details_f32)(const float* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out);
    void (*details_f64)(const double* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out);
};

}  // namespace gradz::kernels
