// lib/pipeline/decode.cpp and block_decoder.cpp: damage, and blocks that lie with every checksum right.
#include "pipeline/decode.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "container/streams.hpp"
#include "pipeline/stream_source.hpp"
#include "support/random_dump.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

// A run with an escape, a lossless tensor, a chunk: something of everything in little space.
test::Bytes small_encoded(const std::string& spec = "nuqsgd:bits=3,bucket=16") {
    std::mt19937_64 gen(1);
    MemoryDump dump;
    add_random(dump, DType::f32, 40, gen, false);
    std::vector<float> values(64, 0.5f);
    values[20] = std::nanf("");
    dump.add("nan", DType::f32, values);
    add_random(dump, DType::i16, 9, gen, false);
    add_random(dump, DType::f16, 33, gen, false);
    return encoded(dump, options_of(spec)).bytes;
}

// One tensor of 40 float32 in buckets of 16, the second of which is escaped: pieces of 16, 16 and 8 elements.
struct Block {
    std::string spec = "nuqsgd:bits=4,p=0.5,norm=l2,bucket=16,rounding=stochastic,zero=yes+fixed";
    DType dtype = DType::f32;
    int coding = 17;
    std::uint64_t escaped = 1;
    test::Bytes bitmap = bytes_of({2}), escapes = test::Bytes(64), scales, code, more;
    std::vector<std::uint8_t> symbols = std::vector<std::uint8_t>(24, 3);
    std::uint64_t twist = 0;  // of the content checksum

    Block() { set_scales(1.0f, 2.0f); }
    void set_scales(float a, float b) {
        scales.clear();
        ByteWriter(scales).little(a);
        ByteWriter(scales).little(b);
    }
    void pack() {  // four bits each
        code.assign(symbols.size() / 2, std::byte{});
        for (std::size_t i = 0; i < symbols.size(); ++i)
            code[i / 2] |= static_cast<std::byte>(symbols[i] << (i % 2 * 4));
    }
    test::Bytes stream() {
        if (code.empty()) pack();
        test::Bytes body;
        const auto content = xxh3_64({scales, std::as_bytes(std::span(symbols)), escapes}) ^ twist;
        write_block_head({static_cast<std::uint8_t>(coding), 0, 1, 0, content}, body);
        ByteWriter w(body);
        w.varint(escaped);
        for (const auto* part : {&bitmap, &escapes, &scales, &code, &more}) w.bytes(*part);
        HandStream s;
        return s.spec(0, spec).tensors({tensor("w", {40}, 0, 0, 0, 0, dtype)}).record(3, body, 0, 0).finish();
    }
};

// The reason for which both readers refuse it; they agree.
std::string refusal(const test::Bytes& bytes, Errc code = Errc::corrupt) {
    const auto forward = try_decode(bytes);
    REQUIRE_FALSE(forward);
    CHECK(forward.error().code == code);
    CHECK(forward.error().where.find("record at byte ") != std::string::npos);
    const auto source = std::make_shared<MemorySource>(bytes);
    auto streams = read_index(*source);
    REQUIRE(streams);
    auto dump = StreamSource::make(source, std::move(streams->front()));
    auto opened = dump->open(0);
    if (!opened) return forward.error().what;
    test::Bytes buffer;
    const auto read = (*opened)->read({0, 40}, buffer);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == code);
    CHECK(read.error().what == forward.error().what);
    return forward.error().what;
}

void check_refused(const std::function<void(Block&)>& lie, const std::string& reason) {
    Block block;
    lie(block);
    const std::string told = refusal(block.stream());
    CAPTURE(told);
    CHECK(told.find(reason) != std::string::npos);
}

}  // namespace

TEST_CASE("every prefix is refused as truncated, in either spec") {
    for (const std::string spec : {"nuqsgd:bits=3,bucket=16", "qsgd:s=200,bucket=16+elias"}) {
        const test::Bytes bytes = small_encoded(spec);
        REQUIRE(try_decode(bytes));
        for (std::size_t n = 0; n < bytes.size(); ++n) {
            const auto refused = try_decode(std::span(bytes).first(n), 1);
            REQUIRE_FALSE(refused);
            CHECK(refused.error().code == Errc::truncated);
        }
    }
}

TEST_CASE("every flipped bit is refused") {
    test::Bytes bytes = small_encoded();
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        CAPTURE(bit);
        CHECK_FALSE(try_decode(bytes, 1));
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    CHECK(try_decode(bytes, 1));
}

TEST_CASE("with the record's checksum repaired, a flipped bit of a block is refused by its content") {
    // elias carries its own scales and code; planes and raw elements have only the content's checksum
    std::size_t blocks = 0, harmless = 0;
    for (const std::string spec : {"nuqsgd:bits=3,bucket=16", "nuqsgd:bits=3,bucket=16+fixed",
                                   "qsgd:bits=3,bucket=16+elias", "none", "none+fixed", "fp16"}) {
        const test::Bytes bytes = small_encoded(spec);
        MemorySource source(bytes);
        auto streams = read_index(source);
        const auto want = decoded(bytes).elements;
        for (const auto& block : streams->front().blocks) {
            ++blocks;
            test::Bytes damaged = bytes;
            std::byte* record = damaged.data() + block.offset;
            const std::size_t body = static_cast<std::size_t>(block.length) - 8;
            for (std::size_t bit = 8 * 3; bit < 8 * body; ++bit) {  // behind type and length
                record[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
                const auto hash = xxh3_64({record, body});
                std::memcpy(record + body, &hash, sizeof hash);
                const auto refused = try_decode(damaged, 1);
                CAPTURE(spec);
                CAPTURE(bit);
                // some bits of a zstd frame say nothing
                harmless += static_cast<bool>(refused);
                if (refused) CHECK((*refused).elements == want);
                else CHECK(refused.error().code != Errc::truncated);
                record[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
            }
        }
    }
    CHECK(blocks >= 12);
    CHECK(harmless < 5 * blocks);
}

TEST_CASE("a block by hand decodes") {
    Block block;
    block.symbols[1] = 0;
    block.symbols[23] = 14;  // -1
    for (std::size_t i = 0; i < 64; ++i) block.escapes[i] = static_cast<std::byte>(i);
    const Collected back = decoded(block.stream());
    std::vector<float> values(40);
    std::memcpy(values.data(), back.elements[0].data(), 160);
    CHECK(values[0] == 0x1p-5f);  // D[3] = level 2 of 7
    CHECK(values[1] == 0);
    CHECK(values[39] == -2);
    CHECK(same_bytes(std::span<const std::byte>(back.elements[0]).subspan(64, 64), block.escapes));
}

TEST_CASE("blocks that lie are refused, and told apart") {
    check_refused([](Block& b) { b.escaped = 4; }, "more escaped buckets than there are");
    check_refused([](Block& b) { b.escaped = 2; }, "escaped buckets do not match their count");
    check_refused([](Block& b) { b.bitmap = bytes_of({0}), b.escapes.clear(); }, "do not match their count");
    check_refused([](Block& b) { b.bitmap = bytes_of({8}); }, "a bucket beyond the block is escaped");
    check_refused([](Block& b) { b.bitmap = bytes_of({0x82}); }, "a bucket beyond the block is escaped");
    check_refused([](Block& b) { b.twist = 1; }, "checksum of the symbols does not match");
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF, -1.0f, -0.0f, 0x1p-127f,
                            0x1p-149f, -0x1p-140f}) {
        check_refused([=](Block& b) { b.set_scales(1, bad); }, "a scale is not a positive normal number");
        check_refused([=](Block& b) { b.set_scales(bad, 1); }, "a scale is not a positive normal number");
    }
    check_refused([](Block& b) { b.symbols[5] = 15; }, "symbol is 15, want below 15");
    check_refused([](Block& b) { b.more = bytes_of({0}); }, "code of 13 bytes, want 12");
    check_refused([](Block& b) { b.pack(), b.code.pop_back(); }, "code of 11 bytes, want 12");
    check_refused([](Block& b) { b.escaped = 0, b.bitmap.clear(), b.escapes.clear(); }, "code of 8 bytes, want 20");
    check_refused([](Block& b) { b.pack(), b.coding = 18; }, "scale is negative, subnormal or not finite");
    check_refused([](Block& b) { b.pack(), b.coding = 19; }, "not one zstd frame of 12 bytes");
    check_refused([](Block& b) { b.coding = 2; }, "block coding 2 does not exist");
    check_refused([](Block& b) { b.coding = 15; }, "block coding 15 does not exist");
    check_refused([](Block& b) { b.coding = 0; }, "code of 86 bytes, want 160");
    check_refused([](Block& b) { b.spec = "none+fixed"; }, "symbols in a lossless block");
    check_refused([](Block& b) { b.spec = "fp16+zstd:level=1", b.coding = 18; }, "this coder cannot take");
}

TEST_CASE("unknown coders, quantizers, keys are a newer program's; a text that is not canonical is damage") {
    Block coder;
    coder.coding = 21;
    CHECK(refusal(coder.stream(), Errc::incompatible) == "unknown coder 5");
    coder.coding = 16;
    CHECK(refusal(coder.stream(), Errc::incompatible) == "unknown coder 0");
    Block key;
    key.spec = "nuqsgd:bits=4,p=0.5,norm=l2,bucket=16,rounding=stochastic,zero=yes,fancy=1+fixed";
    CHECK(refusal(key.stream(), Errc::incompatible).find("fancy") != std::string::npos);
    Block number;
    number.spec = "nuqsgd:bits=4,p=0.50,norm=l2,bucket=16,rounding=stochastic,zero=yes+fixed";
    CHECK(refusal(number.stream()).find("is not canonical") != std::string::npos);
    Block quantizer;
    quantizer.spec = "other:bucket=16+fixed";
    CHECK(try_decode(quantizer.stream()).error().code == Errc::incompatible);
}

TEST_CASE("a damaged block names tensor and record, also behind others that are at work") {
    std::mt19937_64 gen(3);
    MemoryDump dump;
    for (int i = 0; i < 20; ++i) add_random(dump, DType::f32, 20000, gen, false);
    const test::Bytes bytes = encoded(dump, options_of("nuqsgd+fixed")).bytes;
    MemorySource source(bytes);
    auto streams = read_index(source);
    const IndexedBlock block = streams->front().blocks[7];
    test::Bytes damaged = bytes;
    std::byte* record = damaged.data() + block.offset;
    record[block.length - 9] ^= std::byte{1};
    const auto hash = xxh3_64({record, static_cast<std::size_t>(block.length) - 8});
    std::memcpy(record + block.length - 8, &hash, sizeof hash);
    for (const int threads : {1, 2, 7}) {
        const auto refused = try_decode(damaged, threads);
        CHECK(refused.error().where == "tensor layer7 < record at byte " + std::to_string(block.offset));
        CHECK(refused.error().what == "checksum of the symbols does not match");
    }
}

TEST_CASE("streams one after another; blocks that nobody wants are checked all the same") {
    struct Picky : Collected {
        bool wants(std::uint64_t tensor) const override { return tensor == 1; }
    };
    const test::Bytes one = small_encoded(), other = small_encoded("qsgd:bits=4,bucket=16");
    test::Bytes both = one;
    both += other;
    MemorySource source(both, false);
    Picky sink;
    REQUIRE(decode_streams(source, sink, 2));
    CHECK(sink.streams == 2);
    CHECK(sink.ended == 2);
    const Collected first = decoded(one), second = decoded(other);
    REQUIRE(sink.elements.size() == 8);
    CHECK(sink.elements[0].empty());
    CHECK(sink.elements[1] == first.elements[1]);
    CHECK(sink.elements[5] == second.elements[1]);
    CHECK(sink.elements[7].empty());
    both[one.size() - 60] ^= std::byte{1};
    MemorySource damaged(both, false);
    Picky again;
    CHECK_FALSE(decode_streams(damaged, again, 2));
}

TEST_CASE("an error of the sink ends the decoding and is the one that is told") {
    struct Full : Collected {
        int left = 2;
        Result<Done> write(std::uint64_t, std::uint64_t, std::span<const std::byte>) override {
            if (left-- > 0) return Done{};
            return Error{Errc::io, "no space left", "here"};
        }
    };
    for (const int threads : {1, 3}) {
        const test::Bytes bytes = small_encoded();
        MemorySource source(bytes, false);
        Full sink;
        const auto done = decode_streams(source, sink, threads);
        CHECK(done.error().what == "no space left");
        CHECK(done.error().where == "here");
        CHECK(sink.left == -1);
        CHECK(sink.ended == 0);
    }
}

TEST_CASE("the digest knows values, seed and spec, and not the origin") {
    const auto digest_of = [](TensorSource& dump, const char* spec, std::uint64_t seed, const char* format) {
        Origin origin;
        origin.set("", "format", format);
        MemorySink sink;
        REQUIRE(encode_dump(dump, origin, options_of(spec, seed), sink));
        MemorySource source(sink.bytes, false);
        Collected back;
        Digest digest;
        REQUIRE(decode_streams(source, back, 2, &digest));
        return digest.hex();
    };
    std::mt19937_64 gen(5);
    MemoryDump dump, other;
    add_random(dump, DType::f32, 30000, gen, false);
    add_random(other, DType::f32, 30000, gen, false);
    const std::string digest = digest_of(dump, "nuqsgd", 1, "npy");
    CHECK(digest_of(dump, "nuqsgd", 1, "hdf5") == digest);
    CHECK(digest_of(dump, "nuqsgd", 2, "npy") != digest);
    CHECK(digest_of(dump, "qsgd", 1, "npy") != digest);
    CHECK(digest_of(other, "nuqsgd", 1, "npy") != digest);
    CHECK(digest_of(dump, "none", 1, "npy") != digest_of(dump, "none", 2, "npy"));
}
