#include "formats/crc32.hpp"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gradz::formats {

namespace {

using Bytes = std::span<const std::byte>;

std::uint32_t table_crc(std::uint32_t crc, Bytes bytes) {
    return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

#if defined(__x86_64__)

// x^bits modulo the CRC polynomial, bits mirrored as everywhere in CRC-32, and moved up by
// one because a carry-less product of two mirrored numbers ends one bit low.
constexpr long long power_of_x(int bits) {
    std::uint32_t r = 0x80000000;
    for (int i = 0; i < bits; ++i) r = (r >> 1) ^ (r & 1 ? 0xedb88320u : 0u);
    return static_cast<long long>(std::uint64_t{r} << 1);
}

// Multiplies the 128 bits in `x` by a power of x and reduces the product to 128 bits
// again; factors: the powers for the low and the high half.
__attribute__((target("pclmul,sse4.1"))) inline __m128i fold(__m128i x, __m128i factors) {
    return _mm_xor_si128(_mm_clmulepi64_si128(x, factors, 0x00), _mm_clmulepi64_si128(x, factors, 0x11));
}

// Four blocks of 16 bytes are folded onto the next four, then onto each other; the last
// block has the same CRC register as all that was folded into it. Precondition: at least
// 64 bytes, a multiple of 16.
__attribute__((target("pclmul,sse4.1"))) std::uint32_t folded_crc(std::uint32_t crc, Bytes bytes) {
    const auto* p = reinterpret_cast<const __m128i*>(bytes.data());
    const auto* const end = p + bytes.size() / 16;
    constexpr long long by64_high = power_of_x(512 - 32), by64_low = power_of_x(512 + 32);
    constexpr long long by16_high = power_of_x(128 - 32), by16_low = power_of_x(128 + 32);
    const __m128i by64 = _mm_set_epi64x(by64_high, by64_low), by16 = _mm_set_epi64x(by16_high, by16_low);
    __m128i x0 = _mm_xor_si128(_mm_loadu_si128(p), _mm_cvtsi32_si128(static_cast<int>(~crc)));
    __m128i x1 = _mm_loadu_si128(p + 1), x2 = _mm_loadu_si128(p + 2), x3 = _mm_loadu_si128(p + 3);
    for (p += 4; end - p >= 4; p += 4) {
        x0 = _mm_xor_si128(fold(x0, by64), _mm_loadu_si128(p));
        x1 = _mm_xor_si128(fold(x1, by64), _mm_loadu_si128(p + 1));
        x2 = _mm_xor_si128(fold(x2, by64), _mm_loadu_si128(p + 2));
        x3 = _mm_xor_si128(fold(x3, by64), _mm_loadu_si128(p + 3));
    }
    x0 = _mm_xor_si128(fold(x0, by16), x1);
    x0 = _mm_xor_si128(fold(x0, by16), x2);
    x0 = _mm_xor_si128(fold(x0, by16), x3);
    for (; p < end; ++p) x0 = _mm_xor_si128(fold(x0, by16), _mm_loadu_si128(p));
    // zlib inverts the register before and after: ~0 stands for an empty one.
    alignas(16) std::byte last[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(last), x0);
    return table_crc(~std::uint32_t{0}, last);
}

bool can_fold() {
    static const bool yes = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    return yes;
}

#endif

}  // namespace

std::uint32_t crc32_of(std::uint32_t crc, Bytes bytes) {
#if defined(__x86_64__)
    if (bytes.size() >= 64 && can_fold()) {
        const auto folded = bytes.size() / 16 * 16;
        crc = folded_crc(crc, bytes.first(folded));
        bytes = bytes.subspan(folded);
    }
#endif
    return bytes.empty() ? crc : table_crc(crc, bytes);  // zlib takes a null pointer for a restart
}

std::uint32_t crc32_contribution(std::uint32_t crc, std::uint64_t after) {
    return static_cast<std::uint32_t>(crc32_combine(crc, 0, static_cast<z_off_t>(after)));
}

}  // namespace gradz::formats
