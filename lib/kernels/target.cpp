// Compiled once per target (lib/CMakeLists.txt) with -DGRADZ_TARGET=<name> and the flags
// of its instruction set. Flags, not pragmas: clang ignores `#pragma GCC target`.
#include "kernels/element.hpp"
#include "kernels/error_element.hpp"
#include "kernels/kernels.hpp"
#include "kernels/quantize_element.hpp"

#include "kernels/lanes.hpp"
#include "kernels/philox-inl.hpp"
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
const Kernels kKernels = {GRADZ_STRING(GRADZ_TARGET),
                          kVectorBytes,
                          sum_squares,
                          max_abs,
                          quantize_exponential,
                          quantize_uniform,
                          pack4,
                          decode,  //
                          errors_f32,
                          errors_f64,
                          details_f32,
                          details_f64};

}  // namespace gradz::kernels::GRADZ_TARGET
