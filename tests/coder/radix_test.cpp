// lib/coder/radix.cpp: digits against plain arithmetic, for every alphabet and every byte.
#include "coder/radix.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace gradz;

TEST_CASE("symbols a byte: floor(log_A 256)") {
    const auto digits = [](std::uint32_t a) { return digits_per_byte(a); };
    CHECK(digits(2) == 8);
    CHECK(digits(3) == 5);
    CHECK(digits(4) == 4);
    CHECK((digits(5) == 3 && digits(6) == 3));
    for (std::uint32_t a = 7; a <= 16; ++a) CHECK(digits(a) == 2);
    for (std::uint32_t a = 17; a <= 256; ++a) CHECK(digits(a) == 1);
}

TEST_CASE("packing is the sum of digits, and comes back") {
    std::mt19937 gen(5);
    for (std::uint32_t a = 2; a <= 256; a += a < 20 ? 1 : 59)
        for (std::size_t n = 0; n <= 50; ++n) {
            CAPTURE(a);
            CAPTURE(n);
            const unsigned g = digits_per_byte(a);
            std::vector<std::byte> symbols(n), want((n + g - 1) / g), got(want.size() + 1), back(n + 1);
            got.back() = back.back() = std::byte{0xa5};
            for (auto& s : symbols) s = static_cast<std::byte>(gen() % a);
            for (std::size_t i = n; i-- > 0;)
                want[i / g] = static_cast<std::byte>(std::to_integer<unsigned>(want[i / g]) * a +
                                                     std::to_integer<unsigned>(symbols[i]));
            REQUIRE(radix_bytes(n, a) == want.size());
            pack_radix(symbols.data(), n, a, got.data());
            REQUIRE(got.back() == std::byte{0xa5});
            got.pop_back();
            REQUIRE(got == want);
            REQUIRE(unpack_radix(got.data(), n, a, back.data()) == want.size());
            REQUIRE(back.back() == std::byte{0xa5});
            back.pop_back();
            REQUIRE(back == symbols);
        }
}

TEST_CASE("a byte is accepted if and only if it is digits, wherever it stands") {
    for (std::uint32_t a = 2; a <= 20; ++a)
        for (std::size_t used = 1; used <= digits_per_byte(a); ++used)  // digits of the last byte
            for (unsigned byte = 0; byte < 256; ++byte) {
                const unsigned g = digits_per_byte(a);
                const std::vector<std::byte> last{std::byte{0}, static_cast<std::byte>(byte)};
                std::vector<std::byte> back(g + used);
                const bool good = byte < std::lround(std::pow(a, used));
                CHECK(unpack_radix(last.data(), g + used, a, back.data()) == (good ? 2u : 1u));
            }
    std::vector<std::byte> many(100), back(200);
    many[63] = std::byte{15 * 15};
    CHECK(unpack_radix(many.data(), 200, 15, back.data()) == 63);
}
