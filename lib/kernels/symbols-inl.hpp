// Symbols back to floats, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// Any symbols. The table has a place for every 9 bits, so that any symbol of a damaged
// file is a safe index.
template <class Symbol>
static void decode_any(const std::uint8_t* __restrict symbols, std::size_t n, const float* __restrict table, float S,
                       float* __restrict x) {
    for (std::size_t i = 0; i < n; ++i) {
        Symbol symbol;
        memcpy(&symbol, symbols + i * sizeof symbol, sizeof symbol);
        x[i] = S * table[symbol & (kMaxSymbols - 1)];
    }
}

// A group of symbols below 16: the table is in registers.
static void decode_few(const std::uint8_t* __restrict symbols, const Lanes::Sixteen& table, float S,
                       float* __restrict x) {
    alignas(64) std::int32_t index[kGroup];
    for (int j = 0; j < kGroup; ++j) index[j] = symbols[j];
    for (int j = 0; j < kGroup; j += Lanes::kFloats) {
        Lanes::I at;
        memcpy(&at, index + j, sizeof at);
        const Lanes::F value = S * table[at];
        memcpy(x + j, &value, sizeof value);
    }
}

template <class Symbol>
static std::int32_t largest(const std::uint8_t* __restrict symbols, std::size_t n) {
    Symbol top = 0;
#pragma omp simd reduction(max : top)
    for (std::size_t i = 0; i < n; ++i) {
        Symbol symbol;
        memcpy(&symbol, symbols + i * sizeof symbol, sizeof symbol);
        top = symbol > top ? symbol : top;
    }
    return top;
}

// x[i] = S table[symbol], one rounding.
static std::int32_t decode8(const std::uint8_t* symbols, std::size_t n, const float* table, float S, float* x) {
    const std::int32_t top = largest<std::uint8_t>(symbols, n);
    std::size_t done = 0;
    if (top < 16) {
        const Lanes::Sixteen few(table);
        for (; n - done >= kGroup; done += kGroup) decode_few(symbols + done, few, S, x + done);
    }
    decode_any<std::uint8_t>(symbols + done, n - done, table, S, x + done);
    return top;
}

static std::int32_t decode16(const std::uint8_t* symbols, std::size_t n, const float* table, float S, float* x) {
    decode_any<std::uint16_t>(symbols, n, table, S, x);
    return largest<std::uint16_t>(symbols, n);
}

// Compares a vector of symbols with each symbol, and counts in bytes, which hold 255. All but
// the last symbol; what is left is that one's.
static void count_few(const std::uint8_t* __restrict symbols, std::size_t n, std::int32_t alphabet,
                      std::uint64_t* __restrict counts) {
    typedef std::uint8_t Bytes __attribute__((vector_size(Lanes::kBytes)));
    constexpr std::size_t kBytes = Lanes::kBytes, kRound = 255;
    std::uint64_t others = 0;
    std::size_t i = 0;
    while (i + kBytes <= n) {
        const std::size_t vectors = (n - i) / kBytes < kRound ? (n - i) / kBytes : kRound;
        for (std::int32_t first = 0; first < alphabet - 1; first += 4) {
            Bytes count[4] = {};
            for (std::size_t v = 0; v < vectors; ++v) {
                const auto x = Lanes::load<Bytes>(symbols + i + v * kBytes);
                for (int k = 0; k < 4; ++k) count[k] -= (Bytes)(x == static_cast<std::uint8_t>(first + k));
            }
            for (int k = 0; k < 4 && first + k < alphabet - 1; ++k) {
                std::uint64_t sum = 0;
                for (std::size_t j = 0; j < kBytes; ++j) sum += count[k][j];
                counts[first + k] += sum;
                others += sum;
            }
        }
        i += vectors * kBytes;
    }
    counts[alphabet - 1] += i - others;
    for (; i < n; ++i) ++counts[symbols[i]];
}

}  // namespace gradz::kernels::GRADZ_TARGET
