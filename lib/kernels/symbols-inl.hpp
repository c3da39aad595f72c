// Symbols to nibbles and back to floats, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// Two symbols < 16 a byte, the first in the low half; an odd last one alone. bytes:
// [(n + 1) / 2]. Run on a bucket that quantize() just wrote, while it is in L1.
static void pack4(const std::uint8_t* __restrict symbols, std::size_t n, std::uint8_t* __restrict bytes) {
#pragma omp simd
    for (std::size_t j = 0; j < n / 2; ++j) {
        std::uint16_t pair;
        memcpy(&pair, symbols + 2 * j, sizeof pair);
        bytes[j] = static_cast<std::uint8_t>(pair | pair >> 4);
    }
    if (n % 2) bytes[n / 2] = symbols[n - 1];
}

// x[i] = S table[symbol], one rounding. table: [256], zeros beyond the alphabet, so that
// any byte of a damaged file is a safe index. Returns the largest symbol: one check per
// bucket by the caller instead of one branch per element here.
static std::int32_t decode(const std::uint8_t* __restrict symbols, std::size_t n, const float* __restrict table,
                           float S, float* __restrict x) {
    std::int32_t top = 0;
#pragma omp simd reduction(max : top)
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t symbol = symbols[i];
        top = symbol > top ? symbol : top;
        x[i] = S * table[symbol];
    }
    return top;
}

}  // namespace gradz::kernels::GRADZ_TARGET
