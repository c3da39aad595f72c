// The kernels as the rest of the library sees them: one table per target. Fixed-width
// types only, since target.cpp includes this: a std:: template instantiated there could
// leak AVX code into the rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/error_element.hpp"
#include "kernels/philox_element.hpp"
#include "kernels/table_view.hpp"

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

struct ErrorCounts {
    std::int64_t zeros_in, zeros_out;  // v = 0, y = 0
    std::int64_t agreements;           // neither is 0, and they have the same sign
};

enum class LevelKind : std::uint8_t {
    exponential,  // magnitudes 0 and 2^(k - m), k = 1..m, m <= 127
    uniform,      // magnitudes k / m, k = 0..m, m <= 255
    magnitudes,   // any table of them, [0] = 0
    signed_table,
};

// What the sums over one bucket need beside the original values.
struct ErrorBucket {
    const float* y;  // [n] decoded, finite
    std::size_t n;
    GapRule rule;
    Reduction reduction;
    float first, bottom;  // doubling: l_1 and the neighbour below it; even: first is the step
    float per_step;       // even: 1 / step
    TableView table;      // search only
    const float* uppers;  // [kMaxLevels]: the neighbour above each level, the last one's own value
    std::int32_t top;     // index of the last level
    bool bounded;         // nothing is clipped, and magnitudes are rounded
};

// What elements are rounded onto, and how. Symbols: see signed_symbol for magnitudes; the
// index of the level for signed tables.
struct Grid {
    LevelKind kind;
    bool nearest;        // ties to the even index; else stochastic
    std::int32_t top;    // index of the last level: m for magnitudes
    std::int32_t bytes;  // of a symbol: 1, or 2 where they exceed 255
    TableView table;     // of the kinds with a table
};

// Byte pointers have any alignment; inputs and outputs never overlap. The largest symbol
// is returned instead of checked: one branch per bucket by the caller, none per element.
struct Kernels {
    const char* target;  // "scalar", "avx2", "avx512": also the value of GRADZ_TARGET
    int vector_bytes;    // from the compiler's own macros: proves the flags of this object

    // Scales. NaN and infinity in x come through.
    double (*sum_squares)(const float* x, std::size_t n);
    double (*sum_squares_f64)(const double* x, std::size_t n);  // in the same order
    float (*max_abs)(const float* x, std::size_t n);

    // Levels. symbols: [n * grid.bytes]. table: [kMaxSymbols], by symbol; x = S table[symbol].
    void (*quantize)(const Bucket& in, const Grid& grid, std::uint8_t* symbols);
    std::int32_t (*decode8)(const std::uint8_t* symbols, std::size_t n, const float* table, float S, float* x);
    std::int32_t (*decode16)(const std::uint8_t* symbols, std::size_t n, const float* table, float S, float* x);

    // Adds how often each symbol occurs, all below `alphabet` <= 16, to counts [alphabet].
    void (*count_few)(const std::uint8_t* symbols, std::size_t n, std::int32_t alphabet, std::uint64_t* counts);

    // Bits. Symbol i, below 2^width, is bits [i width, (i + 1) width) of the string, lowest
    // first; the last byte is padded with zeros. bits: [ceil(n width / 8)]. Symbols have 1
    // byte in pack8 (width 1..8) and 2 in pack16 (width 1..16). Padding is not checked.
    void (*pack8)(const std::uint8_t* symbols, std::size_t n, int width, std::uint8_t* bits);
    void (*pack16)(const std::uint8_t* symbols, std::size_t n, int width, std::uint8_t* bits);
    void (*unpack8)(const std::uint8_t* bits, std::size_t n, int width, std::uint8_t* symbols);
    void (*unpack16)(const std::uint8_t* bits, std::size_t n, int width, std::uint8_t* symbols);

    // Other floats, little-endian: see convert_element.hpp. f32_from_f64 returns how many
    // elements were not zero and became so.
    void (*f32_from_f16)(const std::uint8_t* bytes, std::size_t n, float* x);
    void (*f32_from_bf16)(const std::uint8_t* bytes, std::size_t n, float* x);
    std::size_t (*f32_from_f64)(const std::uint8_t* bytes, std::size_t n, float* x);
    void (*f16_from_f32)(const float* x, std::size_t n, std::uint8_t* bytes);
    void (*bf16_from_f32)(const float* x, std::size_t n, std::uint8_t* bytes);
    void (*f64_from_f32)(const float* x, std::size_t n, std::uint8_t* bytes);

    // Errors of decoded values y [n] against the bucket's original ones v [n], all finite: the sum
    // of squares alone, or all terms, that one with the same bits. float64 was quantized as its
    // float32 values.
    double (*error2_f32)(const float* v, const float* y, std::size_t n);
    double (*error2_f64)(const double* v, const float* y, std::size_t n);
    // The first one of y = S table[symbol] as decode8 makes them, all symbols below 16.
    double (*error2_few)(const float* v, const std::uint8_t* symbols, std::size_t n, const float* table, float S);
    void (*details_f32)(const float* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out, ErrorCounts* counts);
    void (*details_f64)(const double* v, const ErrorBucket& in, ErrorTerms<SingleDouble>* out, ErrorCounts* counts);
};

}  // namespace gradz::kernels
