// Elias codes of small numbers, looked up. The usual codewords of a bucket are 3 to 12 bits
// long; whatever has no entry here goes through elias_code.hpp.
#pragma once

#include <array>
#include <cstdint>

#include "coder/elias_code.hpp"

namespace gradz {

constexpr std::uint32_t kEliasLevels = 256;  // largest place of a magnitude, alphabets being up to 512

// A codeword in one word: its bits above its length (5 bits). Empty: 0.
using ShortCode = std::uint32_t;
constexpr unsigned kShortLength = 5;

struct EliasEncodeTable {
    static constexpr unsigned kGaps = 32;  // gaps below it are here

    // [2 gap + (symbol is not zero)]: E(gap), nothing before a zero.
    std::array<ShortCode, 2 * kGaps> gap{};
    // [symbol]: sign and E(k) for symbols 2k - 1 and 2k, nothing for 0.
    std::array<ShortCode, 2 * kEliasLevels> level{};
    // [kEliasLevels + symbol - h]: sign and E(k) in a signed table of 2h levels.
    std::array<ShortCode, 2 * kEliasLevels> table_level{};

    explicit constexpr EliasEncodeTable(EliasCode code) {
        for (unsigned g = 1; g < kGaps; ++g) gap[2 * g + 1] = shortened(elias_codeword(code, g), 0, 0);
        for (std::uint32_t k = 1; k <= kEliasLevels; ++k) {
            const Codeword word = elias_codeword(code, k);
            level[2 * k - 1] = shortened(word, 0, 1);
            if (2 * k < level.size()) level[2 * k] = shortened(word, 1, 1);
            table_level[kEliasLevels + k - 1] = shortened(word, 0, 1);
            table_level[kEliasLevels - k] = shortened(word, 1, 1);
        }
    }

private:
    static constexpr ShortCode shortened(Codeword word, std::uint64_t sign, unsigned sign_bits) {
        return static_cast<ShortCode>((sign << word.length | word.bits) << kShortLength | (word.length + sign_bits));
    }
};

// What the next kBits bits begin with: one or two symbols.
struct EliasDecodeEntry {
    std::int16_t symbol[2];  // relative to the kind's base; the same twice if there is one only
    std::uint8_t place[2];   // of each, counted from the previous symbol
    std::uint8_t length;     // bits of both, 0 if they are not all here
    std::uint8_t unused = 0;
};

// What the next kLongBits bits begin with, where that is one symbol.
struct EliasLongEntry {
    std::int16_t symbol;  // as above
    std::uint8_t place;
    std::uint8_t length;  // 0 if it is not all here
};

struct EliasDecodeTable {
    static constexpr unsigned kBits = 12;  // 32 KiB each; at 4 bits 11 is slower, and 13 no faster

    // Where most codewords are longer than kBits (at 6 bits and more). 256 KiB, of which few lines are in
    // use: the longer a codeword is, the fewer entries begin with it.
    static constexpr unsigned kLongBits = 16;

    static constexpr unsigned kNumberBits = 13;  // k <= 127 in any of the codes
    static constexpr unsigned kLength = 4;

    std::array<EliasDecodeEntry, 1u << kBits> gaps;   // gap, sign, level: symbols 2k - 1 and 2k
    std::array<EliasDecodeEntry, 1u << kBits> table;  // sign, level: -k, and k - 1 upwards
    std::array<EliasLongEntry, 1u << kLongBits> long_gaps{}, long_table{};
    std::array<std::uint16_t, 1u << kNumberBits> number;  // one number above its length, or 0

    explicit EliasDecodeTable(EliasCode code);
};

// read_elias(), faster for small numbers.
inline std::uint32_t read_elias(EliasCode code, const EliasDecodeTable& table, BitReader& in) {
    const unsigned word = table.number[in.peek(EliasDecodeTable::kNumberBits)];
    if (word == 0) return read_elias(code, in);
    in.skip(word % (1u << EliasDecodeTable::kLength));
    return word >> EliasDecodeTable::kLength;
}

const EliasEncodeTable& elias_encode_table(EliasCode code);
const EliasDecodeTable& elias_decode_table(EliasCode code);  // made at its first use

}  // namespace gradz
