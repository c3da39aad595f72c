// Loops of the conversions, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

template <float (*kValue)(std::int32_t)>
static void widen(const std::uint8_t* __restrict bytes, std::size_t n, float* __restrict x) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t h;
        memcpy(&h, bytes + 2 * i, sizeof h);
        x[i] = kValue(h);
    }
}

template <std::int32_t (*kBits)(float)>
static void narrow(const float* __restrict x, std::size_t n, std::uint8_t* __restrict bytes) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const auto h = static_cast<std::uint16_t>(kBits(x[i]));
        memcpy(bytes + 2 * i, &h, sizeof h);
    }
}

static void f32_from_f16(const std::uint8_t* bytes, std::size_t n, float* x) { widen<f16_value>(bytes, n, x); }
static void f32_from_bf16(const std::uint8_t* bytes, std::size_t n, float* x) { widen<bf16_value>(bytes, n, x); }
static void f16_from_f32(const float* x, std::size_t n, std::uint8_t* bytes) { narrow<f16_bits>(x, n, bytes); }
static void bf16_from_f32(const float* x, std::size_t n, std::uint8_t* bytes) { narrow<bf16_bits>(x, n, bytes); }

static std::size_t f32_from_f64(const std::uint8_t* __restrict bytes, std::size_t n, float* __restrict x) {
    std::size_t vanished = 0;
#pragma omp simd reduction(+ : vanished)
    for (std::size_t i = 0; i < n; ++i) {
        double d;
        memcpy(&d, bytes + 8 * i, sizeof d);
        const float f = static_cast<float>(d);
        vanished += d != 0 && f == 0 ? 1 : 0;
        x[i] = f;
    }
    return vanished;
}

static void f64_from_f32(const float* __restrict x, std::size_t n, std::uint8_t* __restrict bytes) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const double d = x[i];
        memcpy(bytes + 8 * i, &d, sizeof d);
    }
}

}  // namespace gradz::kernels::GRADZ_TARGET
