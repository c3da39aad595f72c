// formats/crc32.cpp: the folded CRC against a bit-by-bit one.
#include "formats/crc32.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace gradz::formats;

namespace {

std::uint32_t slow_crc(std::uint32_t crc, std::span<const std::byte> bytes) {
    crc = ~crc;
    for (const auto b : bytes) {
        crc ^= std::to_integer<std::uint32_t>(b);
        for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0u);
    }
    return ~crc;
}

std::vector<std::byte> noise(std::size_t size) {
    std::mt19937 gen(7);
    std::vector<std::byte> out(size);
    for (auto& b : out) b = static_cast<std::byte>(gen());
    return out;
}

}  // namespace

TEST_CASE("crc32: the check value of the standard") {
    const std::string_view text = "123456789";
    CHECK(crc32_of(0, std::as_bytes(std::span(text))) == 0xcbf43926u);
    CHECK(crc32_of(0, {}) == 0);
    CHECK(crc32_of(5, {}) == 5);
}

TEST_CASE("crc32: every length and alignment around the folded blocks, going on from any value") {
    const auto bytes = noise(1100);
    for (std::size_t size = 0; size < 300; ++size)
        for (const std::size_t at : {0u, 1u, 7u, 15u}) {
            const auto part = std::span(bytes).subspan(at, size);
            CHECK(crc32_of(0x12345678, part) == slow_crc(0x12345678, part));
        }
    CHECK(crc32_of(0, bytes) == slow_crc(0, bytes));
}

TEST_CASE("crc32: contributions of the parts add up in any order") {
    const auto bytes = noise(1000);
    std::uint32_t sum = 0;
    for (const std::size_t at : {700u, 0u, 300u}) {
        const std::size_t size = at == 300 ? 400 : 300;
        sum ^= crc32_contribution(crc32_of(0, std::span(bytes).subspan(at, size)), bytes.size() - at - size);
    }
    CHECK(sum == slow_crc(0, bytes));
}
