// Elias's universal codes of the numbers from 1 on (Elias, IEEE Trans. Inf. Theory 21(2), 1975).
#pragma once

#include <bit>
#include <cstdint>

#include "coder/bits.hpp"

namespace gradz {

enum class EliasCode : std::uint8_t { omega = 0, gamma = 1, delta = 2 };  // on disk: the first byte of a code

constexpr std::uint32_t kEliasMax = (1u << 18) + 1;  // largest number that a stream may hold

struct Codeword {
    std::uint64_t bits;  // the low `length` ones, the first of them highest
    unsigned length;
};

// n: 1 .. kEliasMax; at most 37 bits.
constexpr Codeword elias_codeword(EliasCode code, std::uint32_t n) {
    const unsigned digits = static_cast<unsigned>(std::bit_width(n));
    if (code == EliasCode::gamma) return {n, 2 * digits - 1};
    if (code == EliasCode::delta) {
        const Codeword length = elias_codeword(EliasCode::gamma, digits);
        const std::uint64_t rest = n - (1u << (digits - 1));
        return {length.bits << (digits - 1) | rest, length.length + digits - 1};
    }
    Codeword word{0, 1};
    for (; n > 1; n = static_cast<std::uint32_t>(std::bit_width(n)) - 1) {
        word.bits |= std::uint64_t{n} << word.length;
        word.length += static_cast<unsigned>(std::bit_width(n));
    }
    return word;
}

namespace elias_detail {

constexpr unsigned kDigits = std::bit_width(kEliasMax);  // 19

inline std::uint32_t up_to_max(std::uint64_t n) { return n <= kEliasMax ? static_cast<std::uint32_t>(n) : 0; }

inline std::uint32_t read_gamma(BitReader& in) {
    const unsigned zeros = in.leading_zeros();
    if (zeros >= kDigits) return 0;
    in.skip(zeros);
    return up_to_max(in.take(zeros + 1));
}

inline std::uint32_t read_delta(BitReader& in) {
    const unsigned digits = read_gamma(in);
    if (digits == 0 || digits > kDigits) return 0;
    if (digits == 1) return 1;
    return up_to_max(std::uint64_t{1} << (digits - 1) | in.take(digits - 1));
}

// Each group is a number and the length, less one, of the next group, which begins with 1;
// a 0 in its place ends the code.
inline std::uint32_t read_omega(BitReader& in) {
    std::uint64_t n = 1;
    while (in.peek(1) == 1) {
        if (n + 1 > kDigits) return 0;
        n = in.take(static_cast<unsigned>(n) + 1);
    }
    in.skip(1);
    return up_to_max(n);
}

}  // namespace elias_detail

// The next number, or 0 where the bits are the code of none up to kEliasMax (what was
// skipped then is unspecified). Any bits are safe. Wants a refill() just before it.
inline std::uint32_t read_elias(EliasCode code, BitReader& in) {
    if (code == EliasCode::gamma) return elias_detail::read_gamma(in);
    if (code == EliasCode::delta) return elias_detail::read_delta(in);
    return elias_detail::read_omega(in);
}

}  // namespace gradz
