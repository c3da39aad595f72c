// lib/coder/coder.hpp: what holds for every coder.
#include "coder/coder.hpp"

#include <doctest/doctest.h>

#include "coder/blocks.hpp"
#include "coder/coders.hpp"

using namespace gradz;
using test::Block;
using test::Bytes;
using test::Fill;

namespace {

constexpr std::uint32_t kAlphabets[] = {2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 31, 127, 255, 256, 257, 510, 511, 65536};

std::vector<std::unique_ptr<Coder>> coders() {
    std::vector<std::unique_ptr<Coder>> all;
    all.push_back(make_fixed());
    for (const auto code : {EliasCode::omega, EliasCode::gamma, EliasCode::delta}) all.push_back(make_elias(code));
    all.push_back(make_zstd(1));
    all.push_back(make_rans());
    return all;
}

std::vector<SymbolKind> kinds(std::uint32_t alphabet) {
    if (alphabet == 65536) return {SymbolKind::bits16};
    if (alphabet % 2 == 0) return {SymbolKind::magnitudes, SymbolKind::table};
    return {SymbolKind::magnitudes};
}

// n elements in one bucket, in buckets of one, of seven, and of random sizes.
std::vector<std::vector<std::uint32_t>> divisions(std::uint32_t n) {
    std::vector<std::vector<std::uint32_t>> all{{n}, std::vector<std::uint32_t>(n, 1), {}, {}};
    for (std::uint32_t left = n; left > 0; left -= all[2].back()) all[2].push_back(std::min(left, 7u));
    std::mt19937 gen(n);
    for (std::uint32_t left = n; left > 0; left -= all[3].back())
        all[3].push_back(std::min<std::uint32_t>(left, gen() % 99 + 1));
    return all;
}

template <class Check>
void for_blocks(std::initializer_list<std::uint32_t> lengths, Check check) {
    unsigned seed = 0;
    for (const auto alphabet : kAlphabets)
        for (const auto kind : kinds(alphabet))
            for (const auto n : lengths)
                for (const auto& buckets : divisions(n))
                    for (const auto fill : {Fill::uniform, Fill::sparse, Fill::lowest, Fill::highest})
                        check(test::block(kind, alphabet, buckets, fill, ++seed));
}

bool codes(const Coder& coder, const Block& block) {
    return coder.id() != kEliasId || block.kind != SymbolKind::bits16;
}

// Decoding fails, or gives symbols that encode to these very bytes again. Frames of zstd and codes
// of rANS are not unique; there the symbols need only be some.
bool refused_or_canonical(const Coder& coder, const Block& block, const Bytes& code) {
    const auto back = test::decode(coder, block, code);
    if (!back.result) {
        const Errc errc = back.result.error().code;
        return (errc == Errc::corrupt || errc == Errc::truncated) && !back.result.error().what.empty();
    }
    Block again = block;
    const std::size_t width = block.shape().symbol_bytes();
    for (std::size_t i = 0; i < again.symbols.size(); ++i) {
        again.symbols[i] = 0;
        std::memcpy(&again.symbols[i], back.symbols.data() + i * width, width);
        if (again.symbols[i] >= block.alphabet) return false;
    }
    if (coder.id() == kZstdId || coder.id() == kRansId) return true;
    if (coder.id() != kEliasId) return test::encode(coder, again) == code;
    again.scales = back.scales;
    return test::encode(*make_elias(static_cast<EliasCode>(code[0])), again) == code;
}

}  // namespace

TEST_CASE("every coder: what was encoded comes back, after whatever stood there") {
    const auto all = coders();
    for_blocks({1, 2, 3, 7, 8, 9, 31, 65, 1027}, [&](const Block& block) {
        const auto symbols = block.memory();
        for (const auto& coder : all) {
            if (!codes(*coder, block)) continue;
            CAPTURE(coder->id());
            CAPTURE(block.alphabet);
            CAPTURE(block.symbols.size());
            CAPTURE(block.buckets.size());
            Bytes code(3, std::byte{7});
            REQUIRE(coder->encode(block.shape(), symbols, block.scales, code));
            REQUIRE(Bytes(code.begin(), code.begin() + 3) == Bytes(3, std::byte{7}));
            code.erase(code.begin(), code.begin() + 3);
            const auto back = test::decode(*coder, block, code);
            REQUIRE(back.result);
            REQUIRE(back.symbols == symbols);
            REQUIRE(test::same(
                back.scales, coder->carries_scales() ? block.scales : std::vector<float>(block.scales.size(), -1.0f)));
        }
    });
}

TEST_CASE("every coder: a block without symbols") {
    for (const auto& coder : coders()) {
        const Block none{SymbolKind::magnitudes, 15, {}, {}, {}};
        const Bytes code = test::encode(*coder, none);
        CHECK(test::decode(*coder, none, code).result);
        CHECK_FALSE(test::decode(*coder, none, test::bytes({0, 0, 0})).result);
    }
}

TEST_CASE("every coder: each prefix is refused, and each longer code") {
    const auto all = coders();
    for_blocks({1, 5, 24}, [&](const Block& block) {
        for (const auto& coder : all) {
            if (!codes(*coder, block) || coder->id() == kRansId) continue;  // rans: rans_coder_test.cpp
            CAPTURE(coder->id());
            CAPTURE(block.alphabet);
            const Bytes code = test::encode(*coder, block);
            for (std::size_t size = 0; size < code.size(); ++size)
                REQUIRE_FALSE(
                    test::decode(*coder, block, Bytes(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(size)))
                        .result);
            for (const unsigned extra : {0u, 1u, 0xffu}) {
                Bytes longer = code;
                longer.push_back(static_cast<std::byte>(extra));
                const auto back = test::decode(*coder, block, longer);
                REQUIRE_FALSE(back.result);
                CHECK(back.result.error().code == Errc::corrupt);
            }
        }
    });
}

TEST_CASE("every coder: each flipped bit is refused or is the code of other symbols") {
    const auto all = coders();
    std::size_t refused = 0, flips = 0;
    for_blocks({1, 5, 13}, [&](const Block& block) {
        for (const auto& coder : all) {
            if (!codes(*coder, block)) continue;
            CAPTURE(coder->id());
            CAPTURE(block.alphabet);
            Bytes code = test::encode(*coder, block);
            for (std::size_t bit = 0; bit < code.size() * 8; ++bit, ++flips) {
                CAPTURE(bit);
                const auto mask = static_cast<std::byte>(1u << bit % 8);
                code[bit / 8] ^= mask;
                REQUIRE(refused_or_canonical(*coder, block, code));
                refused += !test::decode(*coder, block, code).result;
                code[bit / 8] ^= mask;
            }
        }
    });
    CHECK(refused > flips / 20);
}

TEST_CASE("every coder: noise is refused or canonical") {
    const auto all = coders();
    std::mt19937 gen(1);
    for (int round = 0; round < 20000; ++round) {
        const std::uint32_t alphabet = kAlphabets[gen() % std::size(kAlphabets)];
        const auto choice = kinds(alphabet);
        const std::uint32_t n = gen() % 40 + 1;
        const Block block =
            test::block(choice[gen() % choice.size()], alphabet, divisions(n)[gen() % 4], Fill::uniform, gen());
        const Coder& coder = *all[gen() % all.size()];
        if (!codes(coder, block)) continue;
        Bytes code = test::encode(coder, block);
        for (auto& byte : code)  // Elias codes keep their first byte and plausible scales at times
            if (gen() % 4 == 0) byte = static_cast<std::byte>(gen());
        CAPTURE(coder.id());
        CAPTURE(alphabet);
        REQUIRE(refused_or_canonical(coder, block, code));
    }
}
