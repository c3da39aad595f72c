// lib/kernels/pack-inl.hpp: bit by bit what kernels.hpp says, for every width.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "kernels/dispatch.hpp"

using namespace gradz::kernels;
using Bytes = std::vector<std::uint8_t>;

namespace {

const std::size_t kLengths[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 71, 72, 127, 129, 512, 1001};

Bytes by_bit(const std::vector<std::uint16_t>& symbols, int width) {
    const auto w = static_cast<std::size_t>(width);
    Bytes bits((symbols.size() * w + 7) / 8);
    for (std::size_t b = 0; b < symbols.size() * w; ++b)
        bits[b / 8] = static_cast<std::uint8_t>(bits[b / 8] | (symbols[b / w] >> b % w & 1) << b % 8);
    return bits;
}

Bytes stored(const std::vector<std::uint16_t>& symbols, std::size_t bytes) {
    Bytes out;
    for (const auto s : symbols) {
        out.push_back(static_cast<std::uint8_t>(s));
        if (bytes == 2) out.push_back(static_cast<std::uint8_t>(s >> 8));
    }
    return out;
}

}  // namespace

TEST_CASE("golden: three symbols of three bits, lowest first") {
    for (const Kernels* k : runnable()) {
        Bytes bits(2);
        k->pack8(Bytes{1, 2, 7}.data(), 3, 3, bits.data());
        CHECK(bits == Bytes{0xd1, 0x01});
    }
}

TEST_CASE("packing and unpacking, every width, length and target") {
    std::mt19937 gen(5);
    for (int width = 1; width <= 16; ++width)
        for (const std::size_t n : kLengths) {
            CAPTURE(width);
            CAPTURE(n);
            std::vector<std::uint16_t> symbols(n);
            for (auto& s : symbols) s = static_cast<std::uint16_t>(gen() & ((1u << width) - 1));
            const Bytes want = by_bit(symbols, width);
            for (const Kernels* k : runnable())
                for (const std::size_t bytes : {1u, 2u}) {
                    if (bytes == 1 && width > 8) continue;
                    CAPTURE(k->target);
                    const Bytes in = stored(symbols, bytes);
                    // Exact sizes on the heap, so that the sanitizers see a step too far.
                    Bytes bits(want.size(), 0xee), back(in.size(), 0xee);
                    (bytes == 1 ? k->pack8 : k->pack16)(in.data(), n, width, bits.data());
                    CHECK(bits == want);
                    (bytes == 1 ? k->unpack8 : k->unpack16)(bits.data(), n, width, back.data());
                    CHECK(back == in);
                }
        }
}
