#include "coder/pack.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace gradz {
namespace {

using Word = std::uint64_t;

constexpr std::size_t kGroup = 8;  // symbols that fill whole bytes at any width

constexpr Word kBytes = 0x00ff00ff00ff00ff, kPairs = 0x0000ffff0000ffff, kQuads = 0x00000000ffffffff;

constexpr Word low_bits(unsigned count) { return (Word{1} << count) - 1; }  // count < 64

// Two neighbouring lanes of `lane` bits with fields of `width` become one field of twice
// the width in a lane twice as wide. `lower`: every other lane.
constexpr Word join(Word x, Word lower, unsigned lane, unsigned width) {
    return (x & lower) | (x >> lane & lower) << width;
}

// The reverse; `ones` has bit 0 of every wide lane set.
constexpr Word part(Word x, Word ones, unsigned lane, unsigned width) {
    const Word mask = low_bits(width) * ones;
    return (x & mask) | (x >> width & mask) << lane;
}

constexpr Word join_pairs(Word x, unsigned width) { return join(join(x, kPairs, 16, width), kQuads, 32, 2 * width); }
constexpr Word part_pairs(Word x, unsigned width) {
    return part(part(x, 1, 32, 2 * width), 0x0000000100000001, 16, width);
}

// One group of eight u8 symbols.
struct Narrow {
    using Symbol = std::uint8_t;
    static constexpr std::size_t kRoom = 8;  // bytes that pack() writes and unpack() reads

    static void pack(const std::byte* symbols, unsigned width, std::byte* bytes) {
        Word x;
        std::memcpy(&x, symbols, sizeof x);
        x = join_pairs(join(x, kBytes, 8, width), 2 * width);
        std::memcpy(bytes, &x, sizeof x);
    }
    static void unpack(const std::byte* bytes, unsigned width, std::byte* symbols) {
        Word x;
        std::memcpy(&x, bytes, sizeof x);
        x = part(part_pairs(x, 2 * width), 0x0001000100010001, 8, width);
        std::memcpy(symbols, &x, sizeof x);
    }
};

// One group of eight u16 symbols: two words of four, 4 width = 36 .. 60 bits each.
struct Wide {
    using Symbol = std::uint16_t;
    static constexpr std::size_t kRoom = 16;

    static void pack(const std::byte* symbols, unsigned width, std::byte* bytes) {
        Word x[2];
        std::memcpy(x, symbols, sizeof x);
        x[0] = join_pairs(x[0], width), x[1] = join_pairs(x[1], width);
        x[0] |= x[1] << 4 * width;
        x[1] >>= 64 - 4 * width;
        std::memcpy(bytes, x, sizeof x);
    }
    static void unpack(const std::byte* bytes, unsigned width, std::byte* symbols) {
        Word x[2];
        std::memcpy(x, bytes, sizeof x);
        x[1] = x[1] << (64 - 4 * width) | x[0] >> 4 * width;
        x[0] = part_pairs(x[0], width), x[1] = part_pairs(x[1], width);
        std::memcpy(symbols, x, sizeof x);
    }
};

// Whole groups in place as long as their slack fits; the others through a buffer.
template <class Lane>
void pack(const std::byte* symbols, std::size_t n, unsigned width, std::byte* bytes) {
    constexpr std::size_t kSymbols = kGroup * sizeof(typename Lane::Symbol);
    const std::byte* const end = bytes + packed_bytes(n, width);
    for (; n >= kGroup && static_cast<std::size_t>(end - bytes) >= Lane::kRoom; n -= kGroup) {
        Lane::pack(symbols, width, bytes);
        symbols += kSymbols, bytes += width;
    }
    while (n > 0) {
        const std::size_t count = std::min(n, kGroup);
        std::byte in[kSymbols] = {}, out[Lane::kRoom];
        std::memcpy(in, symbols, count * sizeof(typename Lane::Symbol));
        Lane::pack(in, width, out);
        std::memcpy(bytes, out, packed_bytes(count, width));
        symbols += count * sizeof(typename Lane::Symbol), bytes += packed_bytes(count, width), n -= count;
    }
}

template <class Lane>
bool unpack(const std::byte* bytes, std::size_t n, unsigned width, std::byte* symbols) {
    constexpr std::size_t kSymbols = kGroup * sizeof(typename Lane::Symbol);
    const std::byte* const end = bytes + packed_bytes(n, width);
    const unsigned used = static_cast<unsigned>(n % kGroup * width % 8);
    const bool clean = used == 0 || std::to_integer<unsigned>(end[-1]) >> used == 0;
    for (; n >= kGroup && static_cast<std::size_t>(end - bytes) >= Lane::kRoom; n -= kGroup) {
        Lane::unpack(bytes, width, symbols);
        symbols += kSymbols, bytes += width;
    }
    while (n > 0) {
        const std::size_t count = std::min(n, kGroup);
        std::byte in[Lane::kRoom] = {}, out[kSymbols];
        std::memcpy(in, bytes, packed_bytes(count, width));
        Lane::unpack(in, width, out);
        std::memcpy(symbols, out, count * sizeof(typename Lane::Symbol));
        symbols += count * sizeof(typename Lane::Symbol), bytes += packed_bytes(count, width), n -= count;
    }
    return clean;
}

bool is_copy(unsigned width) { return width == 8 || width == 16; }

}  // namespace

void pack_bits(const std::byte* symbols, std::size_t n, unsigned width, std::byte* bytes) {
    assert(width >= 1 && width <= 16);
    if (n == 0) return;
    if (is_copy(width)) std::memcpy(bytes, symbols, n * width / 8);
    else if (width < 8) pack<Narrow>(symbols, n, width, bytes);
    else pack<Wide>(symbols, n, width, bytes);
}

bool unpack_bits(const std::byte* bytes, std::size_t n, unsigned width, std::byte* symbols) {
    assert(width >= 1 && width <= 16);
    if (n == 0) return true;
    if (is_copy(width)) std::memcpy(symbols, bytes, n * width / 8);
    else return width < 8 ? unpack<Narrow>(bytes, n, width, symbols) : unpack<Wide>(bytes, n, width, symbols);
    return true;
}

}  // namespace gradz
