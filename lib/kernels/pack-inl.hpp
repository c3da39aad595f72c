// Symbols to bit strings and back, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// No bytes may come with null pointers, which memcpy does not take.
static void copy(std::uint8_t* to, const std::uint8_t* from, std::size_t n) {
    if (n > 0) memcpy(to, from, n);
}

// Any width up to 16, one symbol at a time. Also the end of every string, from a whole
// number of eights on, where the string is at the start of a byte.
template <class Symbol>
static void pack_each(const std::uint8_t* __restrict symbols, std::size_t n, int width, std::uint8_t* __restrict bits) {
    std::uint32_t held = 0;
    int fill = 0;
    for (std::size_t i = 0; i < n; ++i) {
        Symbol symbol;
        memcpy(&symbol, symbols + i * sizeof symbol, sizeof symbol);
        held |= static_cast<std::uint32_t>(symbol) << fill;
        for (fill += width; fill >= 8; fill -= 8, held >>= 8) *bits++ = static_cast<std::uint8_t>(held);
    }
    if (fill > 0) *bits = static_cast<std::uint8_t>(held);
}

template <class Symbol>
static void unpack_each(const std::uint8_t* __restrict bits, std::size_t n, int width,
                        std::uint8_t* __restrict symbols) {
    std::uint32_t held = 0;
    int fill = 0;
    for (std::size_t i = 0; i < n; ++i) {
        for (; fill < width; fill += 8) held |= static_cast<std::uint32_t>(*bits++) << fill;
        const auto symbol = static_cast<Symbol>(held & ((1u << width) - 1));
        memcpy(symbols + i * sizeof symbol, &symbol, sizeof symbol);
        held >>= width, fill -= width;
    }
}

// Two neighbouring lanes of `lane` bits with fields of `width` become one field of twice the width in a
// lane twice as wide, and the reverse. lower: ones where the lower field of each wide lane lies.
GRADZ_ELEMENT std::uint64_t join(std::uint64_t v, std::uint64_t lower, int lane, int width) {
    return (v & lower) | (v >> (lane - width) & lower << width);
}
GRADZ_ELEMENT std::uint64_t part(std::uint64_t v, std::uint64_t lower, int lane, int width) {
    return (v & lower) | (v & lower << width) << (lane - width);
}

// Eight bytes of `width` bits close up in three steps: pairs, fours, eight.
struct Octet {
    std::uint64_t pairs, fours, eight;  // the lower field of each lane of 16, 32, 64 bits
    int width;

    GRADZ_MEMBER explicit Octet(int w)
        : pairs((std::uint64_t{1} << w) - 1),
          fours((std::uint64_t{1} << 2 * w) - 1),
          eight((std::uint64_t{1} << 4 * w) - 1),
          width(w) {
        pairs *= 0x0001000100010001u, fours *= 0x0000000100000001u;
    }
    GRADZ_MEMBER std::uint64_t close(std::uint64_t v) const {
        return join(join(join(v, pairs, 8, width), fours, 16, 2 * width), eight, 32, 4 * width);
    }
    GRADZ_MEMBER std::uint64_t open(std::uint64_t v) const {
        return part(part(part(v, eight, 32, 4 * width), fours, 16, 2 * width), pairs, 8, width);
    }
};

// Steps of eight symbols. Each moves `moved` bytes of the string, of which `width` are its own and the next
// step overwrites or rereads the others, so the last few symbols go singly.
static std::size_t octets(std::size_t n, int width, std::size_t moved) {
    const std::size_t bytes = n / 8 * static_cast<std::size_t>(width);
    return bytes < moved ? 0 : (bytes - moved) / static_cast<std::size_t>(width) + 1;
}

// Two symbols a byte, the first in the low half: one vector operation each.
static void pack4(const std::uint8_t* __restrict symbols, std::size_t n, std::uint8_t* __restrict bits) {
#pragma omp simd
    for (std::size_t j = 0; j < n / 2; ++j) {
        std::uint16_t pair;
        memcpy(&pair, symbols + 2 * j, sizeof pair);
        bits[j] = static_cast<std::uint8_t>(pair | pair >> 4);
    }
    if (n % 2) bits[n / 2] = symbols[n - 1];
}

static void unpack4(const std::uint8_t* __restrict bits, std::size_t n, std::uint8_t* __restrict symbols) {
#pragma omp simd
    for (std::size_t j = 0; j < n / 2; ++j) {
        const auto pair = static_cast<std::uint16_t>((bits[j] | bits[j] << 4) & 0x0f0f);
        memcpy(symbols + 2 * j, &pair, sizeof pair);
    }
    if (n % 2) symbols[n - 1] = bits[n / 2] & 15;
}

static void pack8(const std::uint8_t* __restrict symbols, std::size_t n, int width, std::uint8_t* __restrict bits) {
    if (width == 4) return pack4(symbols, n, bits);
    if (width == 8) return copy(bits, symbols, n);
    const Octet octet(width);
    const std::size_t count = octets(n, width, 8), stride = static_cast<std::size_t>(width);
    for (std::size_t g = 0; g < count; ++g) {
        std::uint64_t v;
        memcpy(&v, symbols + 8 * g, sizeof v);
        v = octet.close(v);
        memcpy(bits + g * stride, &v, sizeof v);
    }
    pack_each<std::uint8_t>(symbols + 8 * count, n - 8 * count, width, bits + count * stride);
}

static void unpack8(const std::uint8_t* __restrict bits, std::size_t n, int width, std::uint8_t* __restrict symbols) {
    if (width == 4) return unpack4(bits, n, symbols);
    if (width == 8) return copy(symbols, bits, n);
    const Octet octet(width);
    const std::size_t count = octets(n, width, 8), stride = static_cast<std::size_t>(width);
    for (std::size_t g = 0; g < count; ++g) {
        std::uint64_t v;
        memcpy(&v, bits + g * stride, sizeof v);
        v = octet.open(v);
        memcpy(symbols + 8 * g, &v, sizeof v);
    }
    unpack_each<std::uint8_t>(bits + count * stride, n - 8 * count, width, symbols + 8 * count);
}

// Eight symbols of 16 bits, `width` = 9 .. 15 of them used: two words of four, 4 width = 36 ..
// 60 bits each, which then close up to 8 width bits.
struct WideOctet {
    std::uint64_t pairs, fours;
    int width;

    GRADZ_MEMBER explicit WideOctet(int w)
        : pairs(((std::uint64_t{1} << w) - 1) * 0x0000000100000001u),
          fours((std::uint64_t{1} << 2 * w) - 1),
          width(w) {}
    GRADZ_MEMBER std::uint64_t close_four(std::uint64_t v) const {
        return join(join(v, pairs, 16, width), fours, 32, 2 * width);
    }
    GRADZ_MEMBER std::uint64_t open_four(std::uint64_t v) const {
        return part(part(v, fours, 32, 2 * width), pairs, 16, width);
    }
};

static void pack16(const std::uint8_t* __restrict symbols, std::size_t n, int width, std::uint8_t* __restrict bits) {
    if (width == 16) return copy(bits, symbols, 2 * n);
    const WideOctet octet(width);
    const std::size_t count = width > 8 ? octets(n, width, 16) : 0, stride = static_cast<std::size_t>(width);
    for (std::size_t g = 0; g < count; ++g) {
        std::uint64_t v[2];
        memcpy(v, symbols + 16 * g, sizeof v);
        const std::uint64_t low = octet.close_four(v[0]), high = octet.close_four(v[1]);
        v[0] = low | high << 4 * width, v[1] = high >> (64 - 4 * width);
        memcpy(bits + g * stride, v, sizeof v);
    }
    pack_each<std::uint16_t>(symbols + 16 * count, n - 8 * count, width, bits + count * stride);
}

static void unpack16(const std::uint8_t* __restrict bits, std::size_t n, int width, std::uint8_t* __restrict symbols) {
    if (width == 16) return copy(symbols, bits, 2 * n);
    const WideOctet octet(width);
    const std::size_t count = width > 8 ? octets(n, width, 16) : 0, stride = static_cast<std::size_t>(width);
    for (std::size_t g = 0; g < count; ++g) {
        std::uint64_t v[2];
        memcpy(v, bits + g * stride, sizeof v);
        v[1] = octet.open_four(v[1] << (64 - 4 * width) | v[0] >> 4 * width);
        v[0] = octet.open_four(v[0]);
        memcpy(symbols + 16 * g, v, sizeof v);
    }
    unpack_each<std::uint16_t>(bits + count * stride, n - 8 * count, width, symbols + 16 * count);
}

}  // namespace gradz::kernels::GRADZ_TARGET
