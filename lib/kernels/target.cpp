// Compiled once per target (lib/CMakeLists.txt) with -DGRADZ_TARGET=<name> and the flags
// of its instruction set. Flags, not pragmas: clang ignores `#pragma GCC target`.
#include "kernels/convert_element.hpp"
#include "kernels/element.hpp"
#include "kernels/error_element.hpp"
#include "kernels/kernels.hpp"
#include "kernels/quantize_element.hpp"

// First what the loops below build on.
#include "kernels/lanes.hpp"
#include "kernels/philox-inl.hpp"
#include "kernels/search-inl.hpp"

#include "kernels/convert-inl.hpp"
#include "kernels/pack-inl.hpp"
#include "kernels/quantize-inl.hpp"
#include "kernels/scale-inl.hpp"
#include "kernels/symbols-inl.hpp"

#include "kernels/error-inl.hpp"  // after lanes.hpp

#define GRADZ_STRING2(x) #x
#define GRADZ_STRING(x) GRADZ_STRING2(x)

namespace gradz::kernels::GRADZ_TARGET {

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;  // the baseline of this architecture
#endif

extern const Kernels kKernels;
const Kernels kKernels = {
    .target = GRADZ_STRING(GRADZ_TARGET),
    .vector_bytes = kVectorBytes,
    .sum_squares = sum_squares,
    .sum_squares_f64 = sum_squares_f64,
    .max_abs = max_abs,
    .quantize = quantize,
    .decode8 = decode8,
    .decode16 = decode16,
    .count_few = count_few,
    .pack8 = pack8,
    .pack16 = pack16,
    .unpack8 = unpack8,
    .unpack16 = unpack16,
    .f32_from_f16 = f32_from_f16,
    .f32_from_bf16 = f32_from_bf16,
    .f32_from_f64 = f32_from_f64,
    .f16_from_f32 = f16_from_f32,
    .bf16_from_f32 = bf16_from_f32,
    .f64_from_f32 = f64_from_f32,
    .error2_f32 = error2_f32,
    .error2_f64 = error2_f64,
    .error2_few = error2_few,
    .details_f32 = details_f32,
    .details_f64 = details_f64,
};

}  // namespace gradz::kernels::GRADZ_TARGET
