// lib/coder/elias.cpp, elias_code.hpp, elias_table.cpp: codewords and blocks worked by hand.
#include <doctest/doctest.h>

#include "coder/blocks.hpp"
#include "coder/coders.hpp"
#include "coder/elias_table.hpp"

using namespace gradz;
using test::Block;
using test::Bytes;

namespace {

constexpr EliasCode kCodes[] = {EliasCode::omega, EliasCode::gamma, EliasCode::delta};

std::string digits(EliasCode code, std::uint32_t n) {
    const Codeword word = elias_codeword(code, n);
    std::string text;
    for (unsigned i = word.length; i-- > 0;) text += word.bits >> i & 1 ? '1' : '0';
    return text;
}

// n: what is read; length: what that took, where there is a number.
std::pair<std::uint32_t, std::size_t> read(EliasCode code, const std::string& text) {
    const Bytes bytes = test::bits(text);
    BitReader in(bytes);
    in.refill();
    const std::uint32_t n = read_elias(code, in);
    return {n, in.at()};
}

const char* const kOne = "00111111100000000000000000000000 ";  // the scale 1.0f
const char* const kZero = "00000000000000000000000000000000 ";

// The first byte says which code.
Bytes code_of(EliasCode code, const std::string& text) {
    Bytes out = test::bits(text);
    out.insert(out.begin(), static_cast<std::byte>(code));
    return out;
}

Block magnitudes(std::vector<std::uint32_t> buckets, std::vector<std::uint32_t> symbols, std::vector<float> scales) {
    return {SymbolKind::magnitudes, 15, std::move(buckets), std::move(symbols), std::move(scales)};
}

}  // namespace

TEST_CASE("elias: codewords by hand") {
    const std::pair<std::uint32_t, const char*> omega[] = {{1, "0"},
                                                           {2, "100"},
                                                           {3, "110"},
                                                           {4, "101000"},
                                                           {7, "101110"},
                                                           {8, "1110000"},
                                                           {15, "1111110"},
                                                           {16, "10100100000"},
                                                           {31, "10100111110"},
                                                           {32, "101011000000"},
                                                           {100, "1011011001000"}};
    for (const auto& [n, word] : omega) CHECK(digits(EliasCode::omega, n) == word);
    const std::pair<std::uint32_t, const char*> gamma[] = {
        {1, "1"}, {2, "010"}, {3, "011"}, {4, "00100"}, {9, "0001001"}};
    for (const auto& [n, word] : gamma) CHECK(digits(EliasCode::gamma, n) == word);
    const std::pair<std::uint32_t, const char*> delta[] = {
        {1, "1"}, {2, "0100"}, {3, "0101"}, {4, "01100"}, {7, "01111"}, {8, "00100000"}, {16, "001010000"}};
    for (const auto& [n, word] : delta) CHECK(digits(EliasCode::delta, n) == word);
}

TEST_CASE("elias: lengths of 1 .. 32 and around powers of two") {
    const auto length = [](EliasCode code, std::uint32_t n) { return elias_codeword(code, n).length; };
    const unsigned want[3][7] = {{1, 3, 6, 7, 7, 11, 12}, {1, 3, 5, 7, 7, 9, 11}, {1, 4, 5, 8, 8, 9, 10}};
    for (const auto code : kCodes)
        for (std::uint32_t n = 1; n <= 32; ++n) {
            const int group = n == 1 ? 0 : n < 4 ? 1 : n < 8 ? 2 : n < 12 ? 3 : n < 16 ? 4 : n < 32 ? 5 : 6;
            CHECK(length(code, n) == want[static_cast<int>(code)][group]);
        }
    const std::pair<std::uint32_t, unsigned> omega[] = {{63, 12},  {64, 13},   {127, 13},  {128, 14},   {255, 14},
                                                        {256, 16}, {1023, 17}, {1024, 18}, {65535, 23}, {65536, 28}};
    for (const auto& [n, bits] : omega) CHECK(length(EliasCode::omega, n) == bits);
}

TEST_CASE("elias: numbers up to 2^18 + 1 come back, whatever follows; larger ones are none") {
    for (const auto code : kCodes) {
        for (std::uint32_t n = 1; n <= kEliasMax; n += n < 5000 ? 1 : n < 262000 ? 131 : 1) {
            const std::string word = digits(code, n);
            for (const char* rest : {"", "1111111111111", "0000000000000"})
                REQUIRE(read(code, word + rest) == std::pair<std::uint32_t, std::size_t>{n, word.size()});
        }
        for (const std::uint32_t n : {kEliasMax + 1, kEliasMax + 2, 1u << 19, 1u << 24, ~0u}) {
            const std::string word = digits(code, n);
            CHECK(read(code, word).first == 0);
        }
    }
    CHECK(read(EliasCode::omega, std::string(64, '1')).first == 0);
    CHECK(read(EliasCode::gamma, std::string(64, '0')).first == 0);
    CHECK(read(EliasCode::delta, std::string(64, '0')).first == 0);
}

TEST_CASE("elias: the tables say what the codes say") {
    for (const auto code : kCodes) {
        const EliasDecodeTable& table = elias_decode_table(code);
        for (std::uint32_t prefix = 0; prefix < table.number.size(); ++prefix) {
            std::string text;
            for (unsigned i = EliasDecodeTable::kNumberBits; i-- > 0;) text += prefix >> i & 1 ? '1' : '0';
            Bytes bytes = test::bits(text + "101");
            BitReader in(bytes);
            in.refill();
            const auto want = read(code, text + "101");
            REQUIRE(read_elias(code, table, in) == want.first);
            if (want.first > 0) REQUIRE(in.at() == want.second);
        }
        std::size_t pairs = 0;
        for (const auto& e : table.gaps) {
            CHECK((e.length <= EliasDecodeTable::kBits && e.place[0] >= 1 && e.place[0] <= e.place[1]));
            pairs += e.length > 0 && e.place[0] < e.place[1];
        }
        CHECK(pairs > table.gaps.size() / 5);  // else the loop that takes two at once is slow
    }
}

TEST_CASE("elias: the tables of long symbols say what the codes say") {
    constexpr unsigned kBits = EliasDecodeTable::kLongBits;
    for (const auto code : kCodes) {
        const EliasDecodeTable& table = elias_decode_table(code);
        std::size_t gaps = 0, levels = 0;
        for (std::uint32_t prefix = 0; prefix < table.long_gaps.size(); ++prefix) {
            // Ones follow, so that no code ends in what is not there.
            const Bytes bytes{static_cast<std::byte>(prefix >> 8),
                              static_cast<std::byte>(prefix),
                              std::byte{0xff},
                              std::byte{0xff},
                              std::byte{0xff},
                              std::byte{0xff}};
            for (const bool has_gaps : {true, false}) {
                BitReader in(bytes);
                in.refill();
                const std::uint32_t gap = has_gaps ? read_elias(code, in) : 1;
                const int negative = static_cast<int>(in.take(1)), k = static_cast<int>(read_elias(code, in));
                const bool is_here = gap > 0 && gap < 128 && k > 0 && k < int{kEliasLevels} && in.at() <= kBits;
                const EliasLongEntry e = has_gaps ? table.long_gaps[prefix] : table.long_table[prefix];
                REQUIRE(e.length == (is_here ? in.at() : 0));
                if (!is_here) continue;
                REQUIRE(e.place == gap);
                REQUIRE(e.symbol == (has_gaps ? 2 * k - 1 + negative : negative ? -k : k - 1));
                ++(has_gaps ? gaps : levels);
            }
        }
        CHECK((gaps > table.long_gaps.size() / 2 && levels > table.long_table.size() / 2));
    }
}

TEST_CASE("elias: short and long symbols in turn come back, and no cut of their code does") {
    // Magnitudes around where codewords outgrow a table, after gaps of either side of it, in runs.
    for (const auto code : kCodes)
        for (const std::uint32_t alphabet : {127u, 255u, 511u}) {
            std::mt19937 gen(alphabet);
            Block block{SymbolKind::magnitudes, alphabet, {1500, 512, 3}, {}, {1.0f, 2.0f, 4.0f}};
            while (block.symbols.size() < 2015) {
                const std::uint32_t top = gen() % 2 ? alphabet : 5;
                for (std::uint32_t run = gen() % 40, gap = gen() % 4 ? 1 : 150; run > 0; --run)
                    for (std::uint32_t i = gen() % gap + 1; i > 0; --i)
                        block.symbols.push_back(i > 1 ? 0 : gen() % top);
            }
            block.symbols.resize(2015);
            const auto elias = make_elias(code);
            const Bytes whole = test::encode(*elias, block);
            const auto back = test::decode(*elias, block, whole);
            REQUIRE(back.result);
            CHECK((back.symbols == block.memory() && test::same(back.scales, block.scales)));
            for (std::size_t size = 0; size < whole.size(); size += 1 + size / 50)
                REQUIRE_FALSE(
                    test::decode(*elias, block, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)))
                        .result);
        }
}

TEST_CASE("elias: blocks by hand") {
    const Block gaps = magnitudes({5, 2, 3}, {0, 1, 0, 0, 14, 0, 0, 2, 0, 0}, {1.0f, 0.0f, 1.0f});
    // gap 2, +, 1; gap 3, -, 7 and with it the end | scale 0 | gap 1, -, 1, gap 3 to the end
    CHECK(test::encode(*make_elias(EliasCode::omega), gaps) ==
          code_of(EliasCode::omega, std::string(kOne) + "100 0 0 110 1 101110" + kZero + kOne + "0 1 0 110"));
    CHECK(test::encode(*make_elias(EliasCode::gamma), gaps) ==
          code_of(EliasCode::gamma, std::string(kOne) + "010 0 1 011 1 00111" + kZero + kOne + "1 1 1 011"));
    CHECK(test::encode(*make_elias(EliasCode::delta), gaps) ==
          code_of(EliasCode::delta, std::string(kOne) + "0100 0 1 0101 1 01111" + kZero + kOne + "1 1 1 0101"));
    CHECK(test::encode(*make_elias(EliasCode::omega), magnitudes({2}, {0, 5}, {1.0f})) ==
          test::bytes({0, 0x3f, 0x80, 0, 0, 0b10001100}));  // gap 2, +, 3
    CHECK(test::encode(*make_elias(EliasCode::omega), magnitudes({3}, {0, 0, 0}, {1.0f})) ==
          code_of(EliasCode::omega, std::string(kOne) + "101000"));  // gap 4
    const Block table{SymbolKind::table, 16, {4, 2}, {0, 7, 8, 15, 8, 8}, {1.0f, 0.0f}};
    // -8, -1, +1, +8
    CHECK(test::encode(*make_elias(EliasCode::omega), table) ==
          code_of(EliasCode::omega, std::string(kOne) + "1 1110000 1 0 0 0 0 1110000" + kZero));
}

TEST_CASE("elias: gaps as long as a block may be") {
    const std::uint32_t n = 1u << 18;
    for (const auto code : kCodes) {
        const auto elias = make_elias(code);
        for (const std::uint32_t at : {0u, 1u, 30u, 31u, 32u, 4097u, n - 2, n - 1, n}) {
            CAPTURE(at);
            Block block = magnitudes({n}, std::vector<std::uint32_t>(n), {1.0f});
            if (at < n) block.symbols[at] = 14;
            const Bytes bytes = test::encode(*elias, block);
            CHECK(bytes.size() < 20);
            const auto back = test::decode(*elias, block, bytes);
            REQUIRE(back.result);
            CHECK(back.symbols == block.memory());
        }
    }
}

TEST_CASE("elias: what encode() does not write is refused") {
    const auto elias = make_elias(EliasCode::omega);
    const auto error = [&](const Block& block, const Bytes& code) {
        const auto back = test::decode(*elias, block, code);
        return back.result ? Error{Errc::io, "accepted", ""} : back.result.error();
    };
    const Block one = magnitudes({3}, {0, 0, 0}, {1.0f});
    const auto omega = [&](const std::string& text) { return error(one, code_of(EliasCode::omega, kOne + text)); };
    CHECK(omega("0 0 0 0 0 0 0 0 101110").what == "accepted");                      // levels 1, 1, 7
    CHECK(omega("0 0 0 0 0 0 0 0 1110000").what == "level above the largest one");  // 8
    CHECK(omega("0 0 0 101000").what == "gap beyond the bucket");                   // 4 where 3 is the end
    CHECK(omega("101010").what == "gap beyond the bucket");                         // 5 where 4 is the end
    CHECK(omega("101000 1").what == "unused bits are set");
    CHECK(omega("101000 00 00000000").code == Errc::corrupt);  // a byte too many
    CHECK(omega("000 000 00").code == Errc::truncated);
    CHECK(omega("0 0 0 0 0 11111111111111111111111111").code == Errc::corrupt);  // a level without end
    CHECK(error(one, {}).code == Errc::truncated);
    CHECK(error(one, test::bytes({3, 0, 0, 0, 0})).what == "unknown Elias code 3");
    for (const char* scale :
         {"10000000000000000000000000000000", "10111111100000000000000000000000", "01111111100000000000000000000000",
          "01111111110000000000000000000000", "00000000000000000000000000000001", "00000000011111111111111111111111"})
        CHECK(error(one, code_of(EliasCode::omega, std::string(scale) + "101000")).what ==
              "scale is negative, subnormal or not finite");
    for (const char* scale : {"00000000100000000000000000000000", "01111111011111111111111111111111"})
        CHECK(error(one, code_of(EliasCode::omega, std::string(scale) + "101000")).what == "accepted");
    const Block table{SymbolKind::table, 4, {1}, {0}, {1.0f}};
    CHECK(error(table, code_of(EliasCode::omega, std::string(kOne) + "1 100")).what == "accepted");
    for (const char* level : {"1 110", "0 110", "1 101000"})
        CHECK(error(table, code_of(EliasCode::omega, kOne + std::string(level))).what == "level above the largest one");
}

TEST_CASE("elias: bits of floats and lopsided tables have no code") {
    const auto elias = make_elias(EliasCode::omega);
    const Block floats{SymbolKind::bits16, 65536, {2}, {1, 2}, {}}, odd{SymbolKind::table, 15, {1}, {7}, {1.0f}};
    for (const Block& block : {floats, odd}) {
        Bytes code;
        std::vector<float> scales(block.buckets.size());
        const auto done = elias->encode(block.shape(), block.memory(), scales, code);
        REQUIRE_FALSE(done);
        CHECK(done.error().code == Errc::unsupported);
        CHECK(code.empty());
        Bytes symbols(block.memory());
        CHECK_FALSE(elias->decode(block.shape(), test::bytes({0, 0, 0, 0, 0}), symbols, scales));
    }
}
