// lib/container/record.cpp: records in their frame, heads of blocks.
#include "container/record.hpp"

#include <doctest/doctest.h>

#include "container/frame.hpp"
#include "core/hash.hpp"
#include "streams.hpp"

using namespace gradz;
using namespace gradz::test;

TEST_CASE("a record is type, shortest length, body, checksum, for any size of body") {
    RecordBuilder builder;
    for (const std::size_t size : {0, 1, 127, 128, 16383, 16384, 2097151, 2097152}) {
        CAPTURE(size);
        builder.start(RecordType::spec);
        builder.bytes().resize(builder.bytes().size() + size, std::byte{0x42});
        CHECK(builder.body_size() == size);
        auto whole = *builder.finish();
        Bytes want = bytes_of({1});
        ByteWriter(want).varint(size);
        want.resize(want.size() + size, std::byte{0x42});
        ByteWriter(want).little(xxh3_64(want));
        CHECK(std::equal(whole.begin(), whole.end(), want.begin(), want.end()));
        auto record = open_record(whole, 99);
        REQUIRE(record);
        CHECK(record->is(RecordType::spec));
        CHECK(record->offset == 99);
        CHECK(record->length == want.size());
        CHECK(record->body.size() == size);
    }
}

TEST_CASE("a body has at most 2^26 bytes") {
    RecordBuilder builder;
    builder.start(RecordType::block);
    builder.bytes().resize(builder.bytes().size() + kMaxBody);
    auto most = builder.finish();
    REQUIRE(most);
    CHECK(most->size() == kMaxRecord);
    CHECK(open_record(*most, 0));
    builder.start(RecordType::block);
    builder.bytes().resize(builder.bytes().size() + kMaxBody + 1);
    CHECK(builder.finish().error().code == Errc::unsupported);
}

TEST_CASE("heads of blocks") {
    const BlockHead head{19, 300, 2, std::uint64_t{1} << 40, 0x0123456789abcdef};
    Bytes body;
    write_block_head(head, body);
    ByteReader in(body);
    auto back = read_block_head(in);
    REQUIRE(back);
    CHECK(in.left() == 0);
    CHECK(back->coding == head.coding);
    CHECK(back->tensor == head.tensor);
    CHECK(back->tensors == head.tensors);
    CHECK(back->chunk == head.chunk);
    CHECK(back->content == head.content);
    for (std::size_t n = 0; n < body.size(); ++n) {
        ByteReader part{std::span(body).first(n)};
        CHECK_FALSE(read_block_head(part));
    }
    for (int coding = 0; coding < 256; ++coding) {
        body[0] = static_cast<std::byte>(coding);
        ByteReader any(body);
        CHECK(static_cast<bool>(read_block_head(any)) == (coding < 2 || coding >= 16));
    }
    Bytes none;
    write_block_head({0, 0, 0, 0, 0}, none);
    ByteReader of_none(none);
    CHECK(read_block_head(of_none).error().code == Errc::corrupt);
}
