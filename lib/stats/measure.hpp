// Adds up what one bucket lost, and what theory expects of it, while the bucket is in L1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "stats/bounds.hpp"
#include "stats/level_table.hpp"
#include "stats/sums.hpp"

namespace gradz {

// What all buckets of a tensor share. Const at work: shared by all threads.
struct MeasureScheme {
    const kernels::Kernels* kernels;
    LevelTable levels;             // empty: nothing is expected
    std::uint32_t alphabet = 256;  // symbols are below it
    bool stochastic = true;        // unbiased rounding onto `levels`; if false nothing is expected
    bool clips = true;             // elements may exceed S times the last level by more than rounding
};

// One bucket as it was coded, or the part of it that lies in this chunk, n >= 1 elements.
// Also an uncoded chunk of a whole-tensor stage: no symbols, scheme.stochastic false.
struct MeasureInput {
    // The original values: one of the two is [n], the other empty. float16 and bfloat16
    // come as float32. Non-finite ones (exact exceptions) are counted and left out.
    std::span<const float> v32;
    std::span<const double> v64;
    std::span<const float> y;          // [n] decoded, rounded to the tensor's dtype
    float scale = 0;                   // S as stored: normal and positive, or 0 where nothing can be lost
    float offset = 0;                  // o as stored: v - o was scaled
    std::optional<double> norm2 = {};  // sum of squares of v32, where it is known already
    // Sum of squares of y - v, all finite, where it is known already: then StatsLevel::error needs no y.
    std::optional<double> error2 = {};
    // Of the whole bucket, `bucket` elements long.
    BucketBound bound = {};
    std::uint64_t bucket = 0;  // 0: n
};

void measure_coded(const MeasureScheme& scheme, const MeasureInput& in, StatsLevel level, Sums& sums);

// Adds coded elements to the histogram, which StatsLevel::full has: any number of buckets at once.
// symbols: u8, or u16 where the alphabet exceeds 256 (aligned as those), all below the alphabet.
void count_symbols(const MeasureScheme& scheme, std::span<const std::byte> symbols, Sums& sums);

// Elements that come back bit for bit. escaped: the scheme could not represent them, as
// opposed to a tensor that is lossless throughout.
void measure_exact(std::span<const float> v, bool escaped, StatsLevel level, Sums& sums);
void measure_exact(std::span<const double> v, bool escaped, StatsLevel level, Sums& sums);

// Elements whose dtype is not quantized at all, such as integers.
inline void measure_opaque(std::uint64_t elements, Sums& sums) { sums.elements += elements; }

}  // namespace gradz
