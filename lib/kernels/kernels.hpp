// The kernels as the rest of the library sees them: one table per target. Fixed-width
// types only, since target.cpp includes this: a std:: template instantiated there could
// leak AVX code into the rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>

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
};

}  // namespace gradz::kernels
