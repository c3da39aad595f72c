#include "coder/elias_table.hpp"

#include <algorithm>
#include <cstddef>

namespace gradz {
namespace {

constexpr unsigned kBits = EliasDecodeTable::kBits;

constexpr EliasEncodeTable kEncode[] = {EliasEncodeTable(EliasCode::omega), EliasEncodeTable(EliasCode::gamma),
                                        EliasEncodeTable(EliasCode::delta)};

struct One {
    std::uint32_t gap;  // 0 if there is none within kBits
    std::int16_t symbol;
};

One read_one(EliasCode code, bool has_gaps, BitReader& in) {
    in.refill();
    const std::uint32_t gap = has_gaps ? read_elias(code, in) : 1;
    in.refill();
    const auto negative = static_cast<std::uint32_t>(in.take(1));
    const std::uint32_t k = read_elias(code, in);
    if (gap == 0 || gap > 127 || k == 0 || k >= kEliasLevels || in.at() > kBits) return {0, 0};
    const auto level = static_cast<std::int16_t>(k);
    if (has_gaps) return {gap, static_cast<std::int16_t>(2 * level - (negative ? 0 : 1))};
    return {gap, static_cast<std::int16_t>(negative ? -level : level - 1)};
}

// The prefix, and zeros after it.
std::array<std::byte, 8> spelled(std::uint32_t prefix, unsigned count) {
    const std::uint32_t bits = prefix << (16 - count);
    return {static_cast<std::byte>(bits >> 8), static_cast<std::byte>(bits)};
}

std::uint16_t number_entry(EliasCode code, std::uint32_t prefix) {
    const auto bytes = spelled(prefix, EliasDecodeTable::kNumberBits);
    BitReader in(bytes);
    in.refill();
    const std::uint32_t n = read_elias(code, in);
    if (n == 0 || n >= 128 || in.at() > EliasDecodeTable::kNumberBits) return 0;
    return static_cast<std::uint16_t>(n << EliasDecodeTable::kLength | in.at());
}

EliasDecodeEntry entry(EliasCode code, bool has_gaps, std::uint32_t prefix) {
    const auto bytes = spelled(prefix, kBits);
    BitReader in(bytes);
    const One first = read_one(code, has_gaps, in);
    if (first.gap == 0) return {{0, 0}, {1, 1}, 0};
    const auto length = static_cast<std::uint8_t>(in.at());
    const auto place = static_cast<std::uint8_t>(first.gap);
    const One second = read_one(code, has_gaps, in);
    if (second.gap == 0) return {{first.symbol, first.symbol}, {place, place}, length};
    return {{first.symbol, second.symbol},
            {place, static_cast<std::uint8_t>(place + second.gap)},
            static_cast<std::uint8_t>(in.at())};
}

using LongEntries = std::array<EliasLongEntry, 1u << EliasDecodeTable::kLongBits>;

// All prefixes that begin with gap (none if 0), sign and level k.
void fill_long(EliasCode code, std::uint32_t gap, std::uint32_t k, LongEntries& entries) {
    const Codeword before = gap == 0 ? Codeword{0, 0} : elias_codeword(code, gap), level = elias_codeword(code, k);
    const unsigned length = before.length + 1 + level.length;
    if (length > EliasDecodeTable::kLongBits) return;
    const unsigned rest = EliasDecodeTable::kLongBits - length;
    for (const int negative : {0, 1}) {
        const auto sign = static_cast<std::uint64_t>(negative);
        const std::size_t first = ((before.bits << 1 | sign) << level.length | level.bits) << rest;
        const int magnitude = static_cast<int>(k), table = negative ? -magnitude : magnitude - 1;
        const EliasLongEntry e{static_cast<std::int16_t>(gap == 0 ? table : 2 * magnitude - 1 + negative),
                               static_cast<std::uint8_t>(gap == 0 ? 1 : gap), static_cast<std::uint8_t>(length)};
        std::fill_n(entries.begin() + static_cast<std::ptrdiff_t>(first), std::size_t{1} << rest, e);
    }
}

}  // namespace

EliasDecodeTable::EliasDecodeTable(EliasCode code) {
    for (std::uint32_t prefix = 0; prefix < gaps.size(); ++prefix) {
        gaps[prefix] = entry(code, true, prefix);
        table[prefix] = entry(code, false, prefix);
    }
    for (std::uint32_t prefix = 0; prefix < number.size(); ++prefix) number[prefix] = number_entry(code, prefix);
    for (std::uint32_t k = 1; k < kEliasLevels; ++k) {
        fill_long(code, 0, k, long_table);
        for (std::uint32_t gap = 1; gap < 128; ++gap) fill_long(code, gap, k, long_gaps);
    }
}

const EliasEncodeTable& elias_encode_table(EliasCode code) { return kEncode[static_cast<std::size_t>(code)]; }

const EliasDecodeTable& elias_decode_table(EliasCode code) {
    if (code == EliasCode::omega) {
        static const EliasDecodeTable omega(EliasCode::omega);
        return omega;
    }
    if (code == EliasCode::gamma) {
        static const EliasDecodeTable gamma(EliasCode::gamma);
        return gamma;
    }
    static const EliasDecodeTable delta(EliasCode::delta);
    return delta;
}

}  // namespace gradz
