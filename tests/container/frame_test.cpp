// lib/container/frame.cpp: HEAD, END and the length of a record, from hostile hands too.
#include "container/frame.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "core/hash.hpp"
#include "streams.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

// HEAD with one byte changed and its checksum right again.
Bytes head_with(std::size_t at, int value) {
    Bytes out;
    write_head({}, out);
    out[at] = static_cast<std::byte>(value);
    out.resize(32);
    ByteWriter(out).little(xxh3_64(out));
    return out;
}

void refuse_flips(Bytes bytes, const std::function<bool(const Bytes&)>& accepts) {
    CHECK(accepts(bytes));
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        CHECK_FALSE(accepts(bytes));
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
}

}  // namespace

TEST_CASE("HEAD says what this reader cannot read") {
    CHECK(read_head(head_with(9, 1)).error().what == "format 1.1 is newer than this reader's 1.0");
    CHECK(read_head(head_with(8, 2)).error().what == "format 2.0 is newer than this reader's 1.0");
    for (const std::size_t at : {8, 9, 16, 19}) CHECK(read_head(head_with(at, 4)).error().code == Errc::incompatible);
    CHECK(read_head(head_with(8, 0)).error().code == Errc::incompatible);
    for (std::size_t at = 10; at < 16; ++at) CHECK(read_head(head_with(at, 1)).error().code == Errc::corrupt);
    auto head = read_head(head_with(20, 0xff));
    REQUIRE(head);  // optional features may be anything
    CHECK(head->optional == 0xff);
    CHECK(read_head(head_with(24, 9))->seed == 9);
}

TEST_CASE("every bit of HEAD and END counts") {
    Bytes head, end;
    write_head({1, 0, 0, 1, 42}, head);
    write_end({1234, 5678}, end);
    CHECK(head.size() == kHeadBytes);
    CHECK(end.size() == kEndBytes);
    CHECK(read_end(end)->index == 1234);
    CHECK(read_end(end)->length == 5678);
    refuse_flips(head, [](const Bytes& b) { return static_cast<bool>(read_head(b)); });
    refuse_flips(end, [](const Bytes& b) { return static_cast<bool>(read_end(b)); });
}

TEST_CASE("lengths of records: at most 2^26, the shortest spelling") {
    const auto length_of = [](std::initializer_list<int> start) {
        Bytes b = bytes_of(start);
        b.resize(kMinRecord, std::byte{0x80});
        return read_record_start(b);
    };
    CHECK(length_of({3, 0})->length == 10);
    CHECK(length_of({3, 0x80, 0x80, 0x80, 0x20})->length == kMaxRecord);
    CHECK(length_of({3, 0x81, 0x80, 0x80, 0x20}).error().code == Errc::corrupt);  // 2^26 + 1
    CHECK(length_of({3, 0x80, 0x00}).error().code == Errc::corrupt);
    CHECK(length_of({3, 0xff}).error().code == Errc::corrupt);  // goes on and on
    CHECK_FALSE(open_record(Bytes(9), 0));
}

TEST_CASE("is_stream: eight bytes are needed to say yes") {
    const Bytes stream = HandStream().finish();
    CHECK(is_stream(stream));
    CHECK(is_stream(std::span(stream).first(8)));
    for (std::size_t n = 0; n < 8; ++n) CHECK_FALSE(is_stream(std::span(stream).first(n)));
    for (std::size_t i = 0; i < 8; ++i) {
        Bytes other = stream;
        other[i] ^= std::byte{1};
        CHECK_FALSE(is_stream(other));
    }
}
