// lib/coder/elements.cpp: byte planes.
#include <doctest/doctest.h>

#include "coder/blocks.hpp"
#include "coder/coder.hpp"
#include "core/bytes.hpp"
#include "core/zstd.hpp"
#include "support/gen.hpp"

using namespace gradz;
using test::Bytes;
using test::bytes;

namespace {

Bytes noise(std::size_t size, unsigned seed) {
    std::mt19937 gen(seed);
    Bytes out(size);
    for (auto& b : out) b = static_cast<std::byte>(gen());
    return out;
}

// Only the highest byte of an element says little.
Bytes float_like(std::size_t n, std::size_t width) {
    Bytes out = noise(n * width, static_cast<unsigned>(n));
    for (std::size_t i = 0; i < n; ++i) out[i * width + width - 1] = static_cast<std::byte>(60 + i % 3);
    return out;
}

Result<Done> decode(const ElementCode& code, std::size_t width, Bytes& into) {
    const Bytes exact(code.bytes.begin(), code.bytes.end());
    return decode_elements(code.id, exact, width, into);
}

ElementCode encode(const Bytes& elements, std::size_t width, int level) {
    ElementCode code{9, bytes({1, 2, 3})};  // whatever was there goes
    REQUIRE(encode_elements(elements, width, level, code));
    return code;
}

}  // namespace

TEST_CASE("elements come back at every width and length; planes only where they are shorter") {
    for (const std::size_t width : {1, 2, 4, 8, 16})
        for (const std::size_t n : {0, 1, 2, 15, 100, 5000})
            for (const int level : {0, 1, 9}) {
                CAPTURE(width);
                CAPTURE(n);
                CAPTURE(level);
                for (const Bytes& elements : {float_like(n, width), noise(n * width, 1), Bytes(n * width)}) {
                    const ElementCode code = encode(elements, width, level);
                    CHECK(code.id <= 1);
                    if (code.id == 0) CHECK(code.bytes == elements);
                    else CHECK(code.bytes.size() < elements.size());
                    if (level == 0) CHECK(code.id == 0);
                    Bytes back(elements.size(), std::byte{0xee});
                    REQUIRE(decode(code, width, back));
                    CHECK(back == elements);
                }
                if (n == 5000 && level > 0) CHECK(encode(float_like(n, width), width, level).id == 1);
                if (n == 5000) CHECK(encode(noise(n * width, 1), width, level).id == 0);
            }
}

TEST_CASE("the layout: size and frame for each plane, or size and the plane itself") {
    const std::size_t n = 300;
    const Bytes elements = float_like(n, 2);
    const ElementCode code = encode(elements, 2, 1);
    REQUIRE(code.id == 1);
    ByteReader in(code.bytes);
    CHECK(*in.varint() == n);  // noise: as it is
    const auto low = *in.bytes(n);
    for (std::size_t i = 0; i < n; ++i) CHECK(low[i] == elements[2 * i]);
    const auto size = *in.varint();
    CHECK(size < n);
    Bytes high(n);
    REQUIRE(zstd_decompress(*in.bytes(size), high));
    for (std::size_t i = 0; i < n; ++i) CHECK(high[i] == elements[2 * i + 1]);
    CHECK(in.left() == 0);
}

TEST_CASE("damaged elements: prefixes, longer codes, unknown ids and wrong planes are refused") {
    const ElementCode code = encode(float_like(300, 2), 2, 1);
    Bytes back(600);
    for (std::size_t size = 0; size < code.bytes.size(); ++size)
        REQUIRE_FALSE(
            decode({1, Bytes(code.bytes.begin(), code.bytes.begin() + static_cast<std::ptrdiff_t>(size))}, 2, back));
    ElementCode longer = code;
    longer.bytes.push_back(std::byte{0});
    CHECK_FALSE(decode(longer, 2, back));
    CHECK_FALSE(decode({2, code.bytes}, 2, back));
    CHECK_FALSE(decode({0, Bytes(599)}, 2, back));
    CHECK_FALSE(decode({0, Bytes(601)}, 2, back));
    CHECK_FALSE(decode({1, bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})}, 2, back));
    Bytes wrong;  // a frame of one byte too few
    REQUIRE(zstd_compress(Bytes(299), 1, wrong));
    ElementCode planes{1, {}};
    ByteWriter out(planes.bytes);
    for (int p = 0; p < 2; ++p) out.varint(wrong.size()), out.bytes(wrong);
    const auto done = decode(planes, 2, back);
    REQUIRE_FALSE(done);
    CHECK(done.error().where == "plane 0");
    for (std::size_t bit = 0; bit < code.bytes.size() * 8; ++bit) {  // must only not crash
        ElementCode flipped = code;
        flipped.bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        const auto result = decode(flipped, 2, back);
        if (!result) CHECK(result.error().code != Errc::io);
    }
}
