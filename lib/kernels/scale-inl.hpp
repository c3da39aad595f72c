// Sums and maxima of a bucket, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// 32 lanes (one CUDA warp), each in index order, folded in halves: the order is part of
// the format, since it decides the last bit of the norm.
template <class T>
static double span_squares(const T* __restrict x, std::size_t n) {
    constexpr int kWidth = Lanes::kBytes / sizeof(double), kParts = 32 / kWidth;
    Lanes::D part[kParts] = {};
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        GRADZ_UNROLL
        for (int p = 0; p < kParts; ++p) part[p] = Lanes::add_square(part[p], x + i + p * kWidth);
    }
    double lane[32];
    GRADZ_UNROLL
    for (int p = 0; p < kParts; ++p) {
        const Lanes::D sum = part[p];  // a copy: the address of `part` would pin it to memory
        memcpy(lane + p * kWidth, &sum, sizeof sum);
    }
    for (int k = 0; i < n; ++i, ++k) lane[k] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    for (int width = 16; width > 0; width /= 2)
        for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
    return lane[0];
}

// Spans of 65 536 elements, added in order: a huge bucket can be summed by many threads.
template <class T>
static double sum_spans(const T* x, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; i += kSpan) sum += span_squares(x + i, n - i < kSpan ? n - i : kSpan);
    return sum;
}

static double sum_squares(const float* x, std::size_t n) { return sum_spans(x, n); }
static double sum_squares_f64(const double* x, std::size_t n) { return sum_spans(x, n); }

// The largest |x|. As integers non-negative floats order alike, and NaN lies above
// infinity, so that it cannot get lost as it does in a float maximum.
static float max_abs(const float* __restrict x, std::size_t n) {
    std::int32_t top = 0;
#pragma omp simd reduction(max : top)
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t bits = to_bits(x[i]) & 0x7fffffff;
        top = bits > top ? bits : top;
    }
    return from_bits(top);
}

}  // namespace gradz::kernels::GRADZ_TARGET
