#include "coder/radix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include "coder/pack.hpp"

namespace gradz {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kLargestDigit = 16;  // alphabets above have one symbol a byte

// Digits of every byte, one in each byte of a word, so that unpacking divides by nothing.
// Bytes beyond A^g only need to be safe to look up.
struct Digits {
    std::array<Word, 256> of{};

    constexpr explicit Digits(std::uint32_t alphabet) {
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            std::uint32_t rest = byte;
            for (unsigned i = 0; i < digits_per_byte(alphabet); ++i, rest /= alphabet)
                of[byte] |= Word{rest % alphabet} << 8 * i;
        }
    }
};

// Of bases that are no power of two; 2, 4 and 16 are bit fields.
constexpr Digits kDigits[] = {Digits(3),  Digits(5),  Digits(6),  Digits(7),  Digits(8),  Digits(9),
                              Digits(10), Digits(11), Digits(12), Digits(13), Digits(14), Digits(15)};
constexpr const Digits& digits(std::uint32_t alphabet) { return kDigits[alphabet == 3 ? 0 : alphabet - 4]; }
static_assert(digits(3).of[242] == 0x0202020202 && digits(5).of[124] == 0x040404 && digits(15).of[16] == 0x0101);

constexpr std::uint32_t power(std::uint32_t base, std::size_t exponent) {
    std::uint32_t value = 1;
    while (exponent-- > 0) value *= base;
    return value;
}

// Fields of log2 A bits, g of them a byte exactly.
constexpr bool is_bits(std::uint32_t alphabet) { return alphabet == 2 || alphabet == 4 || alphabet == 16; }

// Byte g - 1 of s_0 + s_1 2^8 + .. times A^(g-1) + .. + A 2^(8 (g-2)) + 2^(8 (g-1)) is the sum
// of s_i A^i: one multiplication instead of g. The bytes below it do not carry, being
// at most A^g - A < 256 too.
constexpr Word factors(std::uint32_t alphabet, unsigned g) {
    Word word = 0;
    for (unsigned i = 0; i < g; ++i) word |= Word{power(alphabet, i)} << 8 * (g - 1 - i);
    return word;
}

std::byte digit_byte(Word symbols, Word multiplier, unsigned g) {
    return static_cast<std::byte>(symbols * multiplier >> 8 * (g - 1));
}

void pack_pairs(const std::byte* symbols, std::size_t pairs, std::uint32_t alphabet, std::byte* bytes) {
    const auto a = static_cast<std::uint16_t>(alphabet);
#pragma omp simd
    for (std::size_t j = 0; j < pairs; ++j) {
        std::uint16_t pair;
        std::memcpy(&pair, symbols + 2 * j, sizeof pair);
        bytes[j] = static_cast<std::byte>((pair & 0xff) + static_cast<std::uint16_t>(pair >> 8) * a);
    }
}

// The first byte >= limit, or count.
std::size_t first_beyond(const std::byte* bytes, std::size_t count, std::uint32_t limit) {
    std::uint8_t top = 0;
#pragma omp simd reduction(max : top)
    for (std::size_t j = 0; j < count; ++j) top = std::max(top, std::to_integer<std::uint8_t>(bytes[j]));
    if (top < limit) return count;
    const auto beyond = [&](std::byte b) { return std::to_integer<std::uint32_t>(b) >= limit; };
    return static_cast<std::size_t>(std::find_if(bytes, bytes + count, beyond) - bytes);
}

}  // namespace

void pack_radix(const std::byte* symbols, std::size_t n, std::uint32_t alphabet, std::byte* bytes) {
    assert(alphabet >= 2 && alphabet <= 256);
    const unsigned g = digits_per_byte(alphabet);
    if (n == 0) return;
    if (g == 1) return void(std::memcpy(bytes, symbols, n));
    if (is_bits(alphabet)) return pack_bits(symbols, n, 8 / g, bytes);
    const std::size_t whole = n / g;
    const Word multiplier = factors(alphabet, g);
    std::size_t j = 0;
    if (g == 2) pack_pairs(symbols, j = whole, alphabet, bytes);
    for (; j * g + sizeof(Word) <= n; ++j) {
        Word x;
        std::memcpy(&x, symbols + j * g, sizeof x);
        bytes[j] = digit_byte(x, multiplier, g);
    }
    for (; j * g < n; ++j) {
        Word x = 0;
        std::memcpy(&x, symbols + j * g, std::min<std::size_t>(g, n - j * g));
        bytes[j] = digit_byte(x, multiplier, g);
    }
}

std::size_t unpack_radix(const std::byte* bytes, std::size_t n, std::uint32_t alphabet, std::byte* symbols) {
    assert(alphabet >= 2 && alphabet <= 256);
    const unsigned g = digits_per_byte(alphabet);
    const std::size_t count = radix_bytes(n, alphabet), whole = n / g;
    if (n == 0) return 0;
    if (is_bits(alphabet)) return unpack_bits(bytes, n, 8 / g, symbols) ? count : count - 1;
    if (const std::size_t j = first_beyond(bytes, whole, power(alphabet, g)); j < whole) return j;
    if (whole < count && std::to_integer<std::uint32_t>(bytes[whole]) >= power(alphabet, n % g)) return whole;
    if (g == 1) return std::memcpy(symbols, bytes, n), count;
    const auto& of = digits(alphabet).of;
    std::size_t j = 0;
    for (; j * g + sizeof(Word) <= n; ++j)
        std::memcpy(symbols + j * g, &of[std::to_integer<std::size_t>(bytes[j])], sizeof(Word));
    for (; j * g < n; ++j)
        std::memcpy(symbols + j * g, &of[std::to_integer<std::size_t>(bytes[j])], std::min<std::size_t>(g, n - j * g));
    return count;
}

}  // namespace gradz
