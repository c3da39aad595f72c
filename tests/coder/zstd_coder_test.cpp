// lib/coder/zstd_coder.cpp: what the frame holds, and how near it comes to the entropy.
#include <doctest/doctest.h>

#include <cmath>
#include <tuple>

#include "coder/blocks.hpp"
#include "coder/coders.hpp"
#include "coder/radix.hpp"
#include "core/zstd.hpp"
#include "support/gen.hpp"

using namespace gradz;
using test::Block;
using test::Bytes;
using test::bytes;
using test::entropy_bits;
using test::one_bucket;

namespace {

Bytes content(const Block& block, std::size_t size) {
    Bytes out(size);
    return zstd_decompress(test::encode(*make_zstd(1), block), out) ? out : Bytes{};
}

// NUQSGD symbols of Laplace values, rounded at random: m levels, scale `scale` times their mean.
std::vector<std::uint32_t> nuqsgd_like(std::size_t n, int m, float scale) {
    std::mt19937 gen(7);
    std::vector<std::uint32_t> symbols;
    for (const float x : test::laplace(n, 1.0f, 8)) {
        const float r = std::min(std::abs(x) / scale, 1.0f);
        int k = 0;
        while (k < m && std::ldexp(1.0f, k + 1 - m) <= r) ++k;  // level k <= r, level 0 being 0
        const float low = k > 0 ? std::ldexp(1.0f, k - m) : 0.0f;
        const float gap = std::ldexp(1.0f, k + 1 - m) - low;
        k += k < m && static_cast<float>(gen() % 65536) / 65536 < (r - low) / gap;
        symbols.push_back(k == 0 ? 0 : static_cast<std::uint32_t>(2 * k - (x < 0 ? 0 : 1)));
    }
    return symbols;
}

}  // namespace

TEST_CASE("zstd: the content of the frame, by hand") {
    CHECK(content(one_bucket(2, {1, 0, 1, 1, 0, 0, 0, 0, 1}), 2) == bytes({0x0d, 0x01}));
    CHECK(content(one_bucket(3, {2, 1, 0, 2, 1, 2}), 2) == bytes({2 + 3 + 2 * 27 + 81, 2}));
    CHECK(content(one_bucket(4, {3, 2, 1, 0, 1}), 2) == bytes({0x1b, 0x01}));
    CHECK(content(one_bucket(5, {4, 3, 2, 1}), 2) == bytes({4 + 3 * 5 + 2 * 25, 1}));
    CHECK(content(one_bucket(6, {5, 5, 5}), 1) == bytes({215}));
    CHECK(content(one_bucket(7, {6, 5, 4}), 2) == bytes({6 + 5 * 7, 4}));
    CHECK(content(one_bucket(15, {14, 3, 9}), 2) == bytes({14 + 3 * 15, 9}));
    CHECK(content(one_bucket(16, {15, 1}), 1) == bytes({0x1f}));
    CHECK(content(one_bucket(17, {16, 3}), 2) == bytes({16, 3}));
    CHECK(content(one_bucket(511, {510, 1, 256}), 6) == bytes({0xfe, 0x01, 0x00, 0x01, 0x00, 0x01}));
}

TEST_CASE("zstd: good frames with bad contents are corrupt") {
    const auto zstd = make_zstd(1);
    const auto where = [&](std::uint32_t alphabet, std::size_t n, const Bytes& inside) {
        Bytes code;
        REQUIRE(zstd_compress(inside, 3, code));
        const auto back = test::decode(*zstd, one_bucket(alphabet, std::vector<std::uint32_t>(n)), code);
        if (back.result) return std::string("accepted");
        CHECK(back.result.error().code == Errc::corrupt);
        return back.result.error().where;
    };
    CHECK(where(15, 3, bytes({224, 14})) == "accepted");
    CHECK(where(15, 3, bytes({225, 14})) == "byte 0 of the content");
    CHECK(where(15, 3, bytes({224, 15})) == "byte 1 of the content");
    CHECK(where(16, 3, bytes({255, 16})) == "byte 1 of the content");
    CHECK(where(17, 3, bytes({16, 17, 0})) == "symbol 1");
    CHECK(where(511, 2, bytes({0xfe, 0xff, 1, 1})) == "symbol 1");
    CHECK(where(511, 2, bytes({0xfe, 0xfe, 1, 1})) == "accepted");
    CHECK(where(15, 3, bytes({1})) != "accepted");
    CHECK(where(15, 3, bytes({1, 1, 1})) != "accepted");
}

TEST_CASE("zstd: 4-bit symbols come within 1 % of their order-0 entropy") {
    const std::size_t n = std::size_t{1} << 18;
    for (const float scale : {8.0f, 22.0f, 32.0f}) {  // about linf, then l2 of buckets of 256 and 512
        const auto symbols = nuqsgd_like(n, 7, scale);
        const double bits = 8.0 * static_cast<double>(test::encode(*make_zstd(1), one_bucket(15, symbols)).size());
        CAPTURE(bits / static_cast<double>(n));
        CHECK(bits <= 1.01 * entropy_bits(symbols));
    }
}

TEST_CASE("zstd: whole digits a byte code better than bit fields across bytes") {
    const std::size_t n = std::size_t{1} << 17;
    for (const std::uint32_t alphabet : {5u, 6u, 7u}) {
        std::vector<std::uint32_t> symbols = nuqsgd_like(n, 3, 6.0f);
        for (auto& s : symbols) s = std::min(s, alphabet - 1);
        const Block block = one_bucket(alphabet, symbols);
        Bytes fields;
        REQUIRE(zstd_compress(test::encode(*make_fixed(), block), 1, fields));
        CAPTURE(alphabet);
        CHECK(test::encode(*make_zstd(1), block).size() < fields.size() * 95 / 100);
    }
}

TEST_CASE("zstd: few independent symbols are not matched at level 1") {
    for (const auto& [m, scale, most] :
         {std::tuple{1, 20.0f, 1.2}, {1, 4.0f, 1.03}, {3, 32.0f, 1.2}, {3, 8.0f, 1.03}}) {
        CAPTURE(m);
        CAPTURE(scale);
        const auto block = one_bucket(2 * static_cast<std::uint32_t>(m) + 1, nuqsgd_like(1 << 18, m, scale));
        const std::size_t size = test::encode(*make_zstd(1), block).size();
        CHECK(8.0 * static_cast<double>(size) / entropy_bits(block.symbols) < most);
        Bytes packed(radix_bytes(block.symbols.size(), block.alphabet)), matched;
        REQUIRE(zstd_decompress(test::encode(*make_zstd(1), block), packed));
        REQUIRE(zstd_compress(packed, 1, matched));
        CHECK(size <= matched.size());
    }
}

TEST_CASE("zstd: runs of few symbols are still found at level 1") {
    // As in the rows of an embedding: most are zero.
    auto symbols = nuqsgd_like(1 << 18, 3, 32.0f);
    std::mt19937 gen(3);
    for (std::size_t row = 0; row < symbols.size(); row += 128)
        if (gen() % 8 != 0) std::fill_n(symbols.begin() + static_cast<std::ptrdiff_t>(row), 128, 0u);
    const auto block = one_bucket(7, std::move(symbols));
    Bytes packed(radix_bytes(block.symbols.size(), 7)), literals;
    REQUIRE(zstd_decompress(test::encode(*make_zstd(1), block), packed));
    REQUIRE(zstd_compress_literals(packed, literals));
    CHECK(test::encode(*make_zstd(1), block).size() < literals.size() / 2);
}
