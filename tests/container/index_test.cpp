// lib/container/index.cpp: little is read, and nothing that END or INDEX claims is believed.
#include <doctest/doctest.h>

#include "streams.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

Bytes with_end(Bytes stream, std::uint64_t index, std::uint64_t length) {
    stream.resize(stream.size() - kEndBytes);
    write_end({index, length}, stream);
    return stream;
}

}  // namespace

TEST_CASE("blocks are not touched") {
    PlannedStream s;
    s.rest = 100'000;
    s.spec(kNuqsgd);
    s.batch({tensor("a", {5'000'000})});
    s.batch({tensor("b", {5})});
    const Bytes bytes = s.finish();
    MemorySource source(bytes);
    auto read = read_index(source);
    REQUIRE(read);
    CHECK((*read)[0].blocks.size() == 21);
    CHECK(source.bytes_read_at < 1000);
    CHECK(source.largest_read == 0);
}

TEST_CASE("records by their place") {
    const Bytes bytes = small_stream();
    MemorySource source(bytes);
    auto streams = read_index(source);
    Bytes buffer;
    for (const auto& b : (*streams)[0].blocks) {
        auto record = read_record_at(source, b.offset, b.length, buffer);
        REQUIRE(record);
        CHECK(record->is(RecordType::block));
        CHECK(record->offset == b.offset);
        ByteReader body(record->body);
        CHECK(read_block_head(body)->tensor == b.tensor);
    }
    const IndexedBlock& b = (*streams)[0].blocks[0];
    CHECK(read_record_at(source, b.offset, b.length - 1, buffer).error().code == Errc::corrupt);
    CHECK(read_record_at(source, b.offset + 1, b.length, buffer).error().code == Errc::corrupt);
    CHECK(read_record_at(source, b.offset, 9, buffer).error().code == Errc::corrupt);
    CHECK(read_record_at(source, bytes.size() - 5, 10, buffer).error().code == Errc::truncated);
    CHECK(read_record_at(source, ~std::uint64_t{0}, 10, buffer).error().code == Errc::truncated);
    CHECK(read_record_at(source, 10, ~std::uint64_t{0}, buffer).error().code == Errc::truncated);
}

TEST_CASE("lengths and offsets in END") {
    const Bytes bytes = small_stream();
    const std::uint64_t length = bytes.size();
    MemorySource source(bytes);
    const std::uint64_t index = ByteReader(std::span(bytes).last(kEndBytes)).little<std::uint64_t>().operator*();
    CHECK(read_by_index(with_end(bytes, index, length)));
    for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{79}, std::uint64_t{80},
                                      length - 1, length + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        CAPTURE(wrong);
        CHECK(read_by_index(with_end(bytes, index, wrong)).error().code == Errc::corrupt);
        CHECK(read_forward(with_end(bytes, index, wrong)).error().code == Errc::corrupt);
        CHECK_FALSE(read_by_index(with_end(bytes, wrong, length)));
        CHECK_FALSE(read_forward(with_end(bytes, wrong, length)));
    }
}

TEST_CASE("a walk over ends that point at themselves comes to its end") {
    Bytes ends;
    for (int i = 0; i < 1000; ++i) {
        ends.resize(ends.size() + 48);
        write_end({40, 80}, ends);
    }
    CHECK_FALSE(read_by_index(ends));
    Bytes zero(1000);
    write_end({0, 0}, zero);
    CHECK(read_by_index(zero).error().code == Errc::corrupt);
}

TEST_CASE("blocks that INDEX leaves out or lists twice") {
    HandStream s;
    s.spec(0, kNuqsgd).tensors({tensor("a", {600'000})}).block(0).block(0, 1, 1).block(0, 1, 2);
    CHECK(read_by_index(s.finish()));
    // The same records, listed as others: only INDEX is wrong.
    for (const std::vector<std::uint64_t>& chunks :
         {std::vector<std::uint64_t>{0, 1, 1}, {0, 2, 1}, {1, 1, 2}, {0, 1, 3}}) {
        HandStream wrong = s;
        wrong.bytes.clear();
        HandStream listed;
        listed.spec(0, kNuqsgd).tensors({tensor("a", {600'000})});
        for (const auto c : chunks) listed.block(0, 1, c);
        Bytes body;
        REQUIRE(write_index(listed.index, body));
        CHECK(read_by_index(s.finish_with(body)).error().code == Errc::corrupt);
        CHECK(read_forward(s.finish_with(body)).error().code == Errc::corrupt);
    }
}
