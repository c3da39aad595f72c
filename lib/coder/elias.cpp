// Coder `elias`: the papers' own code. Per bucket the scale, then gap, sign and level of every
// non-zero symbol; or, where a scheme has no zero, sign and level of every symbol.
#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "coder/check.hpp"
#include "coder/coders.hpp"
#include "coder/elias_table.hpp"

namespace gradz {
namespace {

constexpr unsigned kScaleBits = 32;

template <class Symbol>
std::uint32_t load(const std::byte* symbols, std::size_t i) {
    Symbol symbol;
    std::memcpy(&symbol, symbols + i * sizeof symbol, sizeof symbol);
    return symbol;
}

template <class Symbol>
void store(std::byte* symbols, std::size_t i, std::uint32_t value) {
    const auto symbol = static_cast<Symbol>(value);
    std::memcpy(symbols + i * sizeof symbol, &symbol, sizeof symbol);
}

void put(BitWriter& out, ShortCode word) { out.put(word >> kShortLength, word % (1u << kShortLength)); }

void put_number(BitWriter& out, EliasCode code, std::size_t n) {
    const Codeword word = elias_codeword(code, static_cast<std::uint32_t>(n));
    out.flush();
    out.put(word.bits, word.length);
    out.flush();
}

// Zeros cost no branch: they put an empty code and make the gap one longer. Two symbols
// are at most 2 (11 + 17) bits between flushes.
template <class Symbol>
BitWriter put_gaps(BitWriter out, EliasCode code, const std::byte* symbols, std::size_t d) {
    constexpr std::size_t kGaps = EliasEncodeTable::kGaps;
    const EliasEncodeTable& table = elias_encode_table(code);
    std::size_t gap = 1, i = 0;
    const auto put_one = [&](std::size_t at) {
        const std::uint32_t symbol = load<Symbol>(symbols, at);
        put(out, table.gap[2 * gap + (symbol != 0)]);
        put(out, table.level[symbol]);
        gap = symbol != 0 ? 1 : gap + 1;
    };
    for (;;) {
        for (; d - i >= 2 && gap + 1 < kGaps; i += 2) {
            put_one(i), put_one(i + 1);
            out.flush();
        }
        for (; i < d && load<Symbol>(symbols, i) == 0; ++i) ++gap;
        if (i == d) break;
        put_number(out, code, gap);
        put(out, table.level[load<Symbol>(symbols, i++)]);
        out.flush();
        gap = 1;
    }
    if (gap > 1) put_number(out, code, gap);
    return out;
}

template <class Symbol>
BitWriter put_table(BitWriter out, EliasCode code, std::uint32_t h, const std::byte* symbols, std::size_t d) {
    const ShortCode* const level = elias_encode_table(code).table_level.data() + kEliasLevels - h;
    std::size_t i = 0;
    for (; d - i >= 3; i += 3) {  // 3 * 18 bits
        for (std::size_t j = i; j < i + 3; ++j) put(out, level[load<Symbol>(symbols, j)]);
        out.flush();
    }
    for (; i < d; ++i) put(out, level[load<Symbol>(symbols, i)]);
    out.flush();
    return out;
}

// Bytes that suffice for a block: with L the bits of the largest level, no gap with its
// symbol takes more than 2 + L bits for each place that it covers (E(2) = 4, E(3) <= 4, ..), and the
// gap to the end at most one bit more than that.
std::size_t most_bytes(const BlockShape& shape, std::size_t n, EliasCode code) {
    const std::size_t level = elias_codeword(code, std::max(shape.alphabet / 2, 1u)).length;
    return 1 + (n * (2 + level) + shape.buckets.size() * (kScaleBits + 1) + 7) / 8 + BitWriter::kSlack;
}

// +0, or positive, normal and finite.
bool is_scale(std::uint32_t pattern) { return pattern == 0 || (pattern >= 0x00800000 && pattern < 0x7f800000); }

template <class Symbol>
std::byte* put_block(const BlockShape& shape, EliasCode code, const std::byte* symbols, std::span<const float> scales,
                     std::byte* bytes) {
    *bytes = static_cast<std::byte>(code);
    BitWriter out(bytes + 1);
    for (std::size_t b = 0; b < shape.buckets.size(); ++b) {
        const std::size_t d = shape.buckets[b];
        const auto scale = std::bit_cast<std::uint32_t>(scales[b]);
        assert(is_scale(scale) && d < kEliasMax);
        out.put(scale, kScaleBits);
        out.flush();
        if (scale != 0)
            out = shape.kind == SymbolKind::magnitudes ? put_gaps<Symbol>(out, code, symbols, d)
                                                       : put_table<Symbol>(out, code, shape.alphabet / 2, symbols, d);
        symbols += d * sizeof(Symbol);
    }
    return out.finish();
}

struct Levels {
    EliasCode code;
    bool has_gaps;
    std::uint32_t base;      // what the entries' symbols are relative to; the symbol of a zero scale
    std::uint32_t alphabet;  // symbols are below it
    const EliasDecodeTable* table;
    const EliasDecodeEntry* entries;
    const EliasLongEntry* long_entries;
};

struct Walk {
    BitReader in;
    std::size_t place;  // symbols that are decoded, or skipped as zeros
    std::uint32_t top;  // largest symbol so far
    const char* wrong;  // nullptr as long as nothing is
};

// One symbol, or the gap to the end of the bucket. Inlined by force: the reader lives in
// registers, and a call would send it through memory (at 8 bits half the speed).
template <class Symbol>
[[gnu::always_inline]] inline void walk_one(Walk& at, const Levels& levels, std::byte* symbols, std::size_t d) {
    const std::size_t left = d - at.place;
    at.in.refill();
    std::size_t gap = 1;
    if (levels.has_gaps) {
        gap = read_elias(levels.code, *levels.table, at.in);
        if (gap == 0 || gap > left + 1) return void(at.wrong = "gap beyond the bucket");
        if (gap == left + 1) return void(at.place = d);
        if (gap >= 128) at.in.refill();  // shorter ones leave 56 - 13 bits, enough for any level
    }
    const auto negative = static_cast<std::uint32_t>(at.in.take(1));
    const std::uint32_t k = read_elias(levels.code, *levels.table, at.in);
    if (k == 0) return void(at.wrong = "level is no Elias code");
    const std::uint32_t symbol = levels.has_gaps ? 2 * k - 1 + negative : levels.base + (negative ? -k : k - 1);
    at.place += gap;
    at.top = std::max(at.top, symbol);
    store<Symbol>(symbols, at.place - 1, symbol);
}

// One or two symbols a step, while they are short enough. False where the next one is not, or where
// it may lie beyond the bucket.
template <class Symbol>
[[gnu::always_inline]] inline bool walk_short(Walk& at, const Levels& levels, std::byte* symbols, std::size_t d) {
    constexpr unsigned kBits = EliasDecodeTable::kBits;
    for (unsigned step = 0; step < 56 / kBits; ++step) {
        const EliasDecodeEntry e = levels.entries[at.in.peek(kBits)];
        if (e.length == 0 || at.place + e.place[1] > d) return false;
        at.in.skip(e.length);
        const std::uint32_t first = levels.base + static_cast<std::uint32_t>(e.symbol[0]);
        const std::uint32_t second = levels.base + static_cast<std::uint32_t>(e.symbol[1]);
        store<Symbol>(symbols, at.place + e.place[0] - 1, first);
        store<Symbol>(symbols, at.place + e.place[1] - 1, second);
        at.top = std::max(at.top, std::max(first, second));
        at.place += e.place[1];
    }
    return true;
}

// One symbol a step. False where the next one is longer still, or may lie beyond the bucket.
template <class Symbol>
[[gnu::always_inline]] inline bool walk_long(Walk& at, const Levels& levels, std::byte* symbols, std::size_t d) {
    constexpr unsigned kBits = EliasDecodeTable::kLongBits;
    for (unsigned step = 0; step < 56 / kBits; ++step) {
        const EliasLongEntry e = levels.long_entries[at.in.peek(kBits)];
        if (e.length == 0 || at.place + e.place > d) return false;
        at.in.skip(e.length);
        const std::uint32_t symbol = levels.base + static_cast<std::uint32_t>(e.symbol);
        store<Symbol>(symbols, at.place + e.place - 1, symbol);
        at.top = std::max(at.top, symbol);
        at.place += e.place;
    }
    return true;
}

// One bucket of d symbols, which hold zeros. Never more than d steps of one symbol, and as many that
// find another kind of step to be due; bits beyond the end are zeros, and the caller asks for overrun().
template <class Symbol>
Walk walk_bucket(const BitReader& from, const Levels& levels, std::byte* symbols, std::size_t d) {
    Walk at{from, 0, 0, nullptr};
    bool is_long = false;
    while (at.place < d && !at.wrong) {
        at.in.refill();
        if (!is_long) {
            is_long = !walk_short<Symbol>(at, levels, symbols, d);
            continue;
        }
        const std::size_t before = at.in.at();
        if (!walk_long<Symbol>(at, levels, symbols, d) && at.place < d) walk_one<Symbol>(at, levels, symbols, d);
        is_long = at.in.at() - before > 2 * EliasDecodeTable::kBits;
    }
    if (!at.wrong && at.top >= levels.alphabet) at.wrong = "level above the largest one";
    return at;
}

Error damage(const char* what, const BitReader& in, std::size_t bucket) {
    const std::string where = "byte " + std::to_string(1 + in.at() / 8) + " < bucket " + std::to_string(bucket);
    if (in.overrun()) return {Errc::truncated, "code ends within bucket " + std::to_string(bucket), where};
    return {Errc::corrupt, what, where};
}

template <class Symbol>
Result<Done> read_block(const BlockShape& shape, const Levels& levels, std::span<const std::byte> code,
                        std::byte* symbols, std::span<float> scales) {
    BitReader in(code);
    for (std::size_t b = 0; b < shape.buckets.size(); ++b) {
        const std::size_t d = shape.buckets[b];
        in.refill();
        const auto pattern = static_cast<std::uint32_t>(in.take(kScaleBits));
        if (!is_scale(pattern) || in.overrun()) return damage("scale is negative, subnormal or not finite", in, b);
        scales[b] = std::bit_cast<float>(pattern);
        for (std::size_t i = 0; i < d; ++i) store<Symbol>(symbols, i, levels.base);
        if (pattern != 0) {
            const Walk end = walk_bucket<Symbol>(in, levels, symbols, d);
            in = end.in;
            if (end.wrong || in.overrun()) return damage(end.wrong, in, b);
        }
        symbols += d * sizeof(Symbol);
    }
    const std::size_t used = in.at(), whole = (used + 7) / 8;
    in.refill();
    if (used % 8 != 0 && in.peek(8 - used % 8) != 0)
        return Error{Errc::corrupt, "unused bits are set", "byte " + std::to_string(whole)};
    return check_length(1 + code.size(), 1 + whole);
}

class Elias final : public Coder {
public:
    explicit Elias(EliasCode code) : code_(code) {}
    std::uint16_t id() const override { return kEliasId; }
    bool carries_scales() const override { return true; }

    Result<Done> encode(const BlockShape& shape, std::span<const std::byte> symbols, std::span<const float> scales,
                        std::vector<std::byte>& out) const override {
        const std::size_t n = symbols.size() / shape.symbol_bytes();
        assert(n == shape.elements() && scales.size() == shape.buckets.size());
        if (!has_code(shape)) return Error{Errc::unsupported, "elias has no code for such symbols", ""};
        GRADZ_TRY(std::byte* const bytes, thread_scratch(most_bytes(shape, n, code_)));
        std::byte* const end = shape.symbol_bytes() == 1
                                   ? put_block<std::uint8_t>(shape, code_, symbols.data(), scales, bytes)
                                   : put_block<std::uint16_t>(shape, code_, symbols.data(), scales, bytes);
        const auto size = static_cast<std::size_t>(end - bytes);
        GRADZ_TRY(std::byte* const room, grow(out, size));
        std::memcpy(room, bytes, size);
        return Done{};
    }

    Result<Done> decode(const BlockShape& shape, std::span<const std::byte> code, std::span<std::byte> symbols,
                        std::span<float> scales) const override {
        assert(symbols.size() == shape.elements() * shape.symbol_bytes() && scales.size() == shape.buckets.size());
        if (!has_code(shape)) return Error{Errc::corrupt, "elias has no code for such symbols", "byte 0"};
        if (code.empty()) return check_length(0, 1);
        if (std::to_integer<unsigned>(code[0]) > static_cast<unsigned>(EliasCode::delta))
            return Error{Errc::corrupt, "unknown Elias code " + std::to_string(std::to_integer<unsigned>(code[0])),
                         "byte 0"};
        const auto which = static_cast<EliasCode>(code[0]);
        const bool has_gaps = shape.kind == SymbolKind::magnitudes;
        const EliasDecodeTable& table = elias_decode_table(which);
        const Levels levels{which,
                            has_gaps,
                            has_gaps ? 0 : shape.alphabet / 2,
                            shape.alphabet,
                            &table,
                            has_gaps ? table.gaps.data() : table.table.data(),
                            has_gaps ? table.long_gaps.data() : table.long_table.data()};
        return shape.symbol_bytes() == 1
                   ? read_block<std::uint8_t>(shape, levels, code.subspan(1), symbols.data(), scales)
                   : read_block<std::uint16_t>(shape, levels, code.subspan(1), symbols.data(), scales);
    }

private:
    // A float's bits are no levels, and a signed table has as many below zero as above.
    static bool has_code(const BlockShape& shape) {
        if (shape.kind == SymbolKind::bits16 || shape.alphabet > 2 * kEliasLevels) return false;
        return shape.kind == SymbolKind::magnitudes || shape.alphabet % 2 == 0;
    }

    EliasCode code_;
};

}  // namespace

std::unique_ptr<Coder> make_elias(EliasCode code) { return std::make_unique<Elias>(code); }

}  // namespace gradz
