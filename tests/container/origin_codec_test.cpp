// lib/container/origin_codec.cpp: any entries come back, in pieces, and bombs do not go off.
#include "container/origin_codec.hpp"

#include <doctest/doctest.h>

#include "streams.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

std::string random_text(std::mt19937& gen, std::size_t most) {
    std::string out(gen() % (most + 1), '\0');
    for (auto& c : out) c = static_cast<char>(gen() % 2 ? gen() : 'a');
    return out;
}

// How many records it took.
std::size_t check_round_trip(const Origin& origin) {
    StateBudget budget;
    Origin back;
    std::size_t records = 0;
    for (std::span<const OriginEntry> left = origin.entries; !left.empty(); ++records) {
        Bytes body;
        auto written = write_origin(left, body);
        REQUIRE(written);
        REQUIRE(*written > 0);
        CHECK(body.size() <= kMaxBody);
        REQUIRE(read_origin(body, budget, back));
        left = left.subspan(*written);
    }
    CHECK(back == origin);
    return records;
}

Result<Done> read(const Bytes& contents, StateBudget budget = {}) {
    Bytes body;
    (void)*pack(contents, body);
    Origin origin;
    return read_origin(body, budget, origin);
}

}  // namespace

TEST_CASE("random entries come back") {
    std::mt19937 gen(1);
    for (int round = 0; round < 100; ++round) {
        Origin origin;
        for (auto n = 1 + gen() % 20; n > 0; --n)
            origin.set(random_text(gen, 9), random_text(gen, 5), random_text(gen, 30));
        CHECK(check_round_trip(origin) == 1);
    }
}

TEST_CASE("many megabytes go into several records, none of them too long") {
    std::mt19937 gen(2);
    Origin origin;
    for (int i = 0; i < 20; ++i) {
        std::string value(i == 7 ? 20'000'000 : 2'000'000, '\0');
        for (std::size_t k = 0; k < value.size(); k += 64) value[k] = static_cast<char>(gen());
        origin.set("/layer/" + std::to_string(i), "attribute:blob", std::move(value));
    }
    CHECK(check_round_trip(origin) >= 4);
    Origin large;
    large.set("/a", "attribute:huge", std::string(kMaxBody, 'x'));
    Bytes body;
    auto written = write_origin(large.entries, body);
    CHECK(written.error().code == Errc::unsupported);
    CHECK(written.error().where == "/a");
}

TEST_CASE("entries that contradict themselves") {
    CHECK(read(bytes_of({})));
    CHECK(read(bytes_of({0, 1, 'a', 0, 0, 1, 0, 1, 'k', 0})));
    CHECK_FALSE(read(bytes_of({1, 0, 0, 0})));                   // shares with nothing
    CHECK_FALSE(read(bytes_of({0, 1, 'a', 0, 0, 2, 0, 0, 0})));  // shares two bytes of one
    CHECK_FALSE(read(bytes_of({0, 1, 'a', 0})));
    CHECK_FALSE(read(bytes_of({0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0})));
}

TEST_CASE("a megabyte of object that every entry shares") {
    Bytes contents = bytes_of({0});
    ByteWriter writer(contents);
    writer.varint(1 << 20);
    contents.resize(contents.size() + (1 << 20));
    contents += bytes_of({0, 0});
    for (int i = 0; i < 100000; ++i) {  // 100 GB in all
        writer.varint(1 << 20);
        contents += bytes_of({0, 0, 0});
    }
    StateBudget small;
    small.base = 1 << 24;
    CHECK(read(contents, small).error().code == Errc::unsupported);
}

TEST_CASE("sizes are refused before they are believed") {
    Bytes frame;
    (void)*pack(Bytes(100), frame);
    frame.erase(frame.begin());
    const auto with_size = [&](std::uint64_t size) {
        Bytes body;
        ByteWriter(body).varint(size);
        body += frame;
        StateBudget budget;
        Origin origin;
        return read_origin(body, budget, origin);
    };
    CHECK(with_size(100));  // 25 entries of nothing
    for (const std::uint64_t size : {std::uint64_t{99}, std::uint64_t{101}, kMaxBody, kMaxBody + 1, ~std::uint64_t{0}})
        CHECK(with_size(size).error().code == Errc::corrupt);
    CHECK(with_size(kMaxBody).error().what.find("cannot come from") != std::string::npos);
}
