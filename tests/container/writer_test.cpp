// lib/container/writer.cpp: the bytes of docs/FORMAT.md, worked out by hand.
#include "container/writer.hpp"

#include <doctest/doctest.h>

#include "streams.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

// Appends the checksum of what follows `from`.
void seal(Bytes& out, std::size_t from) { ByteWriter(out).little(xxh3_64(std::span(out).subspan(from))); }

// Seed 7, one float32 tensor "w" of the elements 1 and -2, lossless. HEAD to the last BLOCK.
Bytes golden_start() {
    Bytes out = bytes_of({0x8f, 'G', 'R', 'Z', 0x0d, 0x0a, 0x1a, 0x0a, 1, 0, 0, 0, 0, 0, 0, 0,    // magic, 1.0
                          0,    0,   0,   0,   0,    0,    0,    0,    7, 0, 0, 0, 0, 0, 0, 0});  // features, seed
    seal(out, 0);
    out += bytes_of({0x01, 5, 0, 'n', 'o', 'n', 'e'});
    seal(out, 40);
    out += bytes_of({0x02, 19, 1, 0, 1, 'w', 0, 1, 2, 0, 0});  // one; shared, rest; f32, rank, 2; step, worker
    Bytes key = bytes_of({7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'w'});
    ByteWriter(out).little(xxh3_64(key));
    out += bytes_of({0, 0});  // spec, rule
    seal(out, 55);
    const Bytes elements = bytes_of({0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0xc0});
    out += bytes_of({0x03, 20, 0, 0, 1, 0});  // raw; tensor, tensors, chunk
    ByteWriter(out).little(xxh3_64(elements));
    out += elements;
    seal(out, 84);
    return out;
}

const Bytes kGoldenIndex = bytes_of({3, 0x01, 15, 0x02, 29, 0x03, 30, 0, 0});

Bytes golden() {
    Bytes out = golden_start();
    out += bytes_of({0x04, 19, 9, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 9, 0x49, 0, 0});  // one raw zstd block of 9 bytes
    out += kGoldenIndex;
    seal(out, 114);
    out += bytes_of({114, 0, 0, 0, 0, 0, 0, 0, 175, 0, 0, 0, 0, 0, 0, 0});
    seal(out, 143);
    out += bytes_of({0x8f, 'G', 'R', 'Z', 'E', 'N', 'D', 0x0a});
    return out;
}

}  // namespace

TEST_CASE("the layout is pinned") {
    MemorySink sink;
    StreamWriter writer(sink, 7);
    REQUIRE(writer.head());
    CHECK(*writer.spec("none") == 0);
    const TensorHeader w = tensor("w", {2}, 0, 7);
    std::vector<std::uint64_t> each;
    REQUIRE(writer.tensors({&w, 1}, &each));
    CHECK(each == std::vector<std::uint64_t>{29});
    const Bytes elements = bytes_of({0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0xc0});
    RecordBuilder block;
    block.start(RecordType::block);
    write_block_head({0, 0, 1, 0, xxh3_64(elements)}, block.bytes());
    block.bytes() += elements;
    REQUIRE(writer.block(*block.finish(), 0, 0));
    const Bytes start = golden_start();
    CHECK(sink.bytes == start);
    REQUIRE(writer.finish());

    // The zstd frame may change with its library; what is in it may not.
    auto whole = std::span<const std::byte>(sink.bytes).subspan(start.size());
    auto index = open_record(whole.first(whole.size() - kEndBytes), 0);
    REQUIRE(index);
    CHECK(*unpack(index->body, 100) == kGoldenIndex);
    Bytes end;
    write_end({start.size(), sink.bytes.size()}, end);
    CHECK(std::equal(end.begin(), end.end(), sink.bytes.end() - kEndBytes));

    const StreamBytes& b = writer.bytes();
    CHECK(b.head == 40);
    CHECK(b.spec == 15);
    CHECK(b.tensors == 29);
    CHECK(b.blocks == 30);
    CHECK(b.end == 32);
    CHECK(b.origin == 0);
    CHECK(b.total() == sink.bytes.size());
}

TEST_CASE("a stream written by hand is read") {
    const Bytes bytes = golden();
    REQUIRE(bytes.size() == 175);
    for (auto read : {read_forward(bytes), read_by_index(bytes)}) {
        REQUIRE(read);
        REQUIRE(read->size() == 1);
        const IndexedStream& s = (*read)[0];
        CHECK(s.begin == 0);
        CHECK(s.length == 175);
        CHECK(s.state.head.seed == 7);
        CHECK(s.state.specs == std::vector<std::string>{"none"});
        REQUIRE(s.state.tensors.size() == 1);
        CHECK(same(s.state.tensors[0], tensor("w", {2}, 0, 7)));
        CHECK(s.state.elements == std::vector<std::uint64_t>{2});
        CHECK(s.state.header_bytes == std::vector<std::uint64_t>{29});
        REQUIRE(s.blocks.size() == 1);
        CHECK(same(s.blocks[0], IndexedBlock{84, 30, 0, 0, 1, {0, 2}}));
    }
}

TEST_CASE("a spec is written once, and only if it can be read again") {
    MemorySink sink;
    StreamWriter writer(sink, 0);
    CHECK(*writer.spec(kNuqsgd) == 0);
    CHECK(*writer.spec("none") == 1);
    const std::size_t size = sink.bytes.size();
    CHECK(*writer.spec(kNuqsgd) == 0);
    CHECK(sink.bytes.size() == size);
    CHECK(writer.spec("topk:ratio=0.1").error().code == Errc::incompatible);
    CHECK(sink.bytes.size() == size);
}

TEST_CASE("nothing is written that a reader would refuse") {
    MemorySink sink;
    StreamWriter writer(sink, 5);
    REQUIRE(writer.spec("none"));
    const std::size_t size = sink.bytes.size();
    const TensorHeader right = tensor("a", {1}, 0, 5), other_seed = tensor("a", {1}, 0, 6);
    const TensorHeader no_spec = tensor("a", {1}, 1, 5), long_name = tensor(std::string(65536, 'a'), {1}, 0, 5);
    CHECK(writer.tensors({}).error().code == Errc::invalid_argument);
    CHECK(writer.tensors(std::vector(4097, right)).error().code == Errc::invalid_argument);
    CHECK(writer.tensors({&other_seed, 1}).error().code == Errc::invalid_argument);
    CHECK(writer.tensors({&no_spec, 1}).error().code == Errc::invalid_argument);
    CHECK(writer.tensors({&long_name, 1}).error().code == Errc::unsupported);
    CHECK(writer.origin(Origin{}));
    CHECK(sink.bytes.size() == size);
    sink.most = size;
    CHECK(writer.tensors({&right, 1}).error().code == Errc::io);
    CHECK(writer.finish().error().code == Errc::io);
}
