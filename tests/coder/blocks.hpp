// Blocks of symbols for the tests of coders.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string_view>
#include <vector>

#include "coder/coder.hpp"

namespace gradz::test {

using Bytes = std::vector<std::byte>;

inline Bytes bytes(std::initializer_list<unsigned> values) {
    Bytes out;
    for (const unsigned v : values) out.push_back(static_cast<std::byte>(v));
    return out;
}

// "1010 11" as a bit string, first bit highest, the last byte filled with zeros.
inline Bytes bits(std::string_view digits) {
    Bytes out;
    std::size_t count = 0;
    for (const char c : digits) {
        if (c == ' ') continue;
        if (count % 8 == 0) out.push_back(std::byte{0});
        if (c == '1') out.back() |= static_cast<std::byte>(0x80u >> count % 8);
        ++count;
    }
    return out;
}

struct Block {
    SymbolKind kind;
    std::uint32_t alphabet;
    std::vector<std::uint32_t> buckets;
    std::vector<std::uint32_t> symbols;
    std::vector<float> scales;  // empty for bits16

    BlockShape shape() const { return {kind, alphabet, buckets}; }
    Bytes memory() const {  // as coders take them
        const std::size_t width = shape().symbol_bytes();
        Bytes out(symbols.size() * width);
        for (std::size_t i = 0; i < symbols.size(); ++i) std::memcpy(out.data() + i * width, &symbols[i], width);
        return out;
    }
    std::uint32_t base() const { return kind == SymbolKind::table ? alphabet / 2 : 0; }  // all there is under scale 0
};

// All in one bucket of scale 1.
inline Block one_bucket(std::uint32_t alphabet, std::vector<std::uint32_t> symbols) {
    const auto n = static_cast<std::uint32_t>(symbols.size());
    return {SymbolKind::magnitudes, alphabet, {n}, std::move(symbols), {1.0f}};
}

// Order-0 entropy of all of them together.
inline double entropy_bits(const std::vector<std::uint32_t>& symbols) {
    std::map<std::uint32_t, double> counts;
    for (const auto s : symbols) ++counts[s];
    double bits = 0;
    for (const auto& [symbol, count] : counts) bits -= count * std::log2(count / static_cast<double>(symbols.size()));
    return bits;
}

enum class Fill { uniform, sparse, lowest, highest };

// buckets sum to symbols; each fifth bucket (at random) has scale 0 where scales exist.
inline Block block(SymbolKind kind, std::uint32_t alphabet, std::vector<std::uint32_t> buckets, Fill fill,
                   unsigned seed) {
    std::mt19937 gen(seed);
    Block out{kind, alphabet, std::move(buckets), {}, {}};
    for (const std::uint32_t d : out.buckets) {
        const bool zero = kind != SymbolKind::bits16 && gen() % 5 == 0;
        if (kind != SymbolKind::bits16)
            out.scales.push_back(zero ? 0.0f : 0x1p-120f * static_cast<float>(gen() % 1000 + 1));
        for (std::uint32_t i = 0; i < d; ++i) {
            std::uint32_t symbol = gen() % alphabet;
            if (fill == Fill::sparse && gen() % 50 != 0) symbol = out.base();
            if (fill == Fill::lowest) symbol = 0;
            if (fill == Fill::highest) symbol = alphabet - 1;
            out.symbols.push_back(zero ? out.base() : symbol);
        }
    }
    return out;
}

struct Decoded {
    Result<Done> result;
    Bytes symbols;
    std::vector<float> scales;
};

// `code` is copied, so that a read beyond its end is one beyond an allocation.
inline Decoded decode(const Coder& coder, const Block& block, const Bytes& code) {
    const std::vector<std::byte> exact(code.begin(), code.end());
    Decoded out{Done{}, Bytes(block.symbols.size() * block.shape().symbol_bytes(), std::byte{0xee}),
                std::vector<float>(block.scales.size(), -1.0f)};
    out.result = coder.decode(block.shape(), exact, out.symbols, out.scales);
    return out;
}

inline Bytes encode(const Coder& coder, const Block& block) {
    Bytes code;
    const auto symbols = block.memory();
    const auto done = coder.encode(block.shape(), symbols, block.scales, code);
    return done ? code : Bytes{};
}

inline bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace gradz::test
