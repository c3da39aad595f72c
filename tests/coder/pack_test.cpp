// lib/coder/pack.cpp: fields against a bit at a time, and nothing written beyond.
#include "coder/pack.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace gradz;

TEST_CASE("bit fields of every width and length, bit by bit") {
    std::mt19937 gen(4);
    for (unsigned width = 1; width <= 16; ++width)
        for (std::size_t n = 0; n <= 70; ++n) {
            CAPTURE(width);
            CAPTURE(n);
            const std::size_t bytes = width <= 8 ? 1 : 2, size = packed_bytes(n, width);
            std::vector<std::byte> symbols(n * bytes), want(size + 1), got(size + 1), back(n * bytes + 1);
            want[size] = got[size] = back[n * bytes] = std::byte{0xa5};  // must stay
            for (std::size_t i = 0; i < n; ++i) {
                const unsigned symbol = static_cast<unsigned>(gen()) & ((1u << width) - 1);
                symbols[i * bytes] = static_cast<std::byte>(symbol);
                if (bytes == 2) symbols[i * 2 + 1] = static_cast<std::byte>(symbol >> 8);
                for (std::size_t b = i * width; b < (i + 1) * width; ++b)
                    want[b / 8] |= static_cast<std::byte>((symbol >> (b - i * width) & 1) << b % 8);
            }
            pack_bits(symbols.data(), n, width, got.data());
            REQUIRE(got == want);
            REQUIRE(unpack_bits(got.data(), n, width, back.data()));
            REQUIRE(back[n * bytes] == std::byte{0xa5});
            back.pop_back();
            REQUIRE(back == symbols);
            for (std::size_t b = n * width; b < size * 8; ++b) {
                got[b / 8] |= static_cast<std::byte>(1u << b % 8);
                CHECK_FALSE(unpack_bits(got.data(), n, width, back.data()));
                got[b / 8] = want[b / 8];
            }
        }
}
