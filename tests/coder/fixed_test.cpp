// lib/coder/fixed.cpp: bytes worked by hand, and what decode() refuses.
#include <doctest/doctest.h>

#include "coder/blocks.hpp"
#include "coder/coders.hpp"

using namespace gradz;
using test::Block;
using test::bytes;

namespace {

Block one_bucket(std::uint32_t alphabet, std::vector<std::uint32_t> symbols) {
    const auto n = static_cast<std::uint32_t>(symbols.size());
    if (alphabet == 65536) return {SymbolKind::bits16, alphabet, {n}, std::move(symbols), {}};
    return {SymbolKind::magnitudes, alphabet, {n}, std::move(symbols), {1.0f}};
}

}  // namespace

TEST_CASE("fixed: bytes by hand") {
    const auto fixed = make_fixed();
    const auto code = [&](std::uint32_t alphabet, std::vector<std::uint32_t> symbols) {
        return test::encode(*fixed, one_bucket(alphabet, std::move(symbols)));
    };
    CHECK(code(2, {1, 0, 1, 1, 0, 0, 0, 0, 1}) == bytes({0x0d, 0x01}));
    CHECK(code(3, {2, 1, 0, 2, 1, 2}) == bytes({2 + 3 + 2 * 27 + 81, 2}));
    CHECK(code(4, {3, 2, 1, 0, 1}) == bytes({0x1b, 0x01}));
    CHECK(code(5, {1, 2, 3, 4}) == bytes({0xd1, 0x08}));  // 1 + 2 * 2^3 + 3 * 2^6 + 4 * 2^9
    CHECK(code(15, {14, 3, 9}) == bytes({0x3e, 0x09}));
    CHECK(code(17, {16, 1}) == bytes({0x30, 0x00}));  // 16 + 1 * 2^5
    CHECK(code(127, {126, 1}) == bytes({0xfe, 0x00}));
    CHECK(code(256, {255, 0, 7}) == bytes({255, 0, 7}));
    CHECK(code(511, {510, 1}) == bytes({0xfe, 0x03, 0x00}));  // 510 + 1 * 2^9
    CHECK(code(511, {1, 1, 1, 1, 1, 1, 1, 1, 256}) == bytes({1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 1}));
    CHECK(code(65536, {0x1234, 0xabcd}) == bytes({0x34, 0x12, 0xcd, 0xab}));
}

TEST_CASE("fixed: the size is that of fixed_bytes") {
    const auto fixed = make_fixed();
    for (const std::uint32_t alphabet :
         {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 100, 127, 129, 255, 256, 257, 511, 512})
        for (const std::uint32_t n : {1, 2, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 63, 64, 65, 511, 513}) {
            unsigned width = 1;
            while (1u << width < alphabet) ++width;
            const std::uint64_t want = alphabet == 3 ? (n + 4) / 5 : (n * width + 7) / 8;
            CHECK(fixed_bytes(n, alphabet) == want);
            CHECK(test::encode(*fixed, one_bucket(alphabet, std::vector<std::uint32_t>(n, alphabet - 1))).size() ==
                  want);
        }
    CHECK(fixed_bytes(0, 15) == 0);
    CHECK(fixed_bytes(9, 65536) == 18);
    CHECK(fixed_bytes(std::uint64_t{1} << 61, 511) == (std::uint64_t{1} << 58) * 9);
}

TEST_CASE("fixed: set padding, digits beyond 242 and symbols beyond the alphabet are corrupt") {
    const auto fixed = make_fixed();
    const auto error = [&](std::uint32_t alphabet, std::size_t n, const test::Bytes& code) {
        const auto back = test::decode(*fixed, one_bucket(alphabet, std::vector<std::uint32_t>(n)), code);
        return back.result ? Error{Errc::io, "accepted", ""} : back.result.error();
    };
    CHECK(error(15, 3, bytes({0x3e, 0x19})).code == Errc::corrupt);
    CHECK(error(15, 3, bytes({0x3e, 0x19})).where == "byte 1");
    CHECK(error(15, 4, bytes({0x3e, 0xf1})).what == "symbol is 15, want below 15");
    CHECK(error(15, 4, bytes({0x3e, 0xf1})).where == "symbol 3");
    CHECK(error(3, 5, bytes({243})).code == Errc::corrupt);
    CHECK(error(3, 10, bytes({242, 243})).where == "byte 1");
    CHECK(error(3, 4, bytes({81})).code == Errc::corrupt);  // a fifth digit
    CHECK(error(511, 1, bytes({0xff, 0x01})).what == "symbol is 511, want below 511");
    CHECK(error(15, 4, bytes({1})).code == Errc::truncated);
    CHECK(error(15, 4, bytes({1, 2, 3})).code == Errc::corrupt);
}
