// Every cut and every flipped bit of a stream is refused.
#include <doctest/doctest.h>

#include "streams.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

// Remembers which bytes were read.
class TouchedSource : public MemorySource {
public:
    explicit TouchedSource(std::span<const std::byte> bytes) : MemorySource(bytes), touched(bytes.size()) {}
    std::vector<bool> touched;

    Result<Done> read_at(std::uint64_t offset, std::span<std::byte> into) override {
        auto done = MemorySource::read_at(offset, into);
        for (std::size_t i = 0; done && i < into.size(); ++i) touched[offset + i] = true;
        return done;
    }
};

}  // namespace

TEST_CASE("every strict prefix is refused as truncated") {
    const Bytes bytes = small_stream();
    REQUIRE(read_forward(bytes));
    REQUIRE(read_by_index(bytes));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
        CAPTURE(n);
        const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
        CHECK(read_forward(part).error().code == Errc::truncated);
        CHECK(read_by_index(part).error().code == Errc::truncated);
        Bytes second = bytes;  // of a second stream, n bytes are left
        second += part;
        if (n == 0) continue;
        CHECK(read_forward(second).error().code == Errc::truncated);
        CHECK(read_by_index(second).error().code == Errc::truncated);
    }
}

TEST_CASE("every flipped bit is refused, by the index where it is looked at") {
    Bytes bytes = small_stream(1);
    bytes += small_stream(2);
    TouchedSource source(bytes);
    auto whole = read_index(source);
    REQUIRE(whole);
    std::size_t untouched = 0;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        CAPTURE(bit);
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        auto forward = read_forward(bytes), indexed = read_by_index(bytes);
        REQUIRE_FALSE(forward);
        REQUIRE(forward.error().where.find("at byte ") != std::string::npos);
        if (source.touched[bit / 8]) REQUIRE_FALSE(indexed);
        else REQUIRE(same(*indexed, *whole));
        untouched += !source.touched[bit / 8];
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    std::uint64_t in_blocks = 0;
    for (const auto& s : *whole)
        for (const auto& b : s.blocks) in_blocks += b.length;
    CHECK(untouched == 8 * in_blocks);
}

TEST_CASE("random damage") {
    std::mt19937 gen(1);
    const Bytes bytes = small_stream();
    for (int round = 0; round < 2000; ++round) {
        Bytes damaged = bytes;
        for (auto n = 1 + gen() % 4; n > 0; --n)
            damaged[gen() % damaged.size()] ^= static_cast<std::byte>(1 + gen() % 255);
        if (damaged == bytes) continue;
        damaged.resize(damaged.size() - gen() % 3);
        CHECK_FALSE(read_forward(damaged));
    }
}
