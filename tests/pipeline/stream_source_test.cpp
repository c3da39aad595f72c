// lib/pipeline/stream_source.cpp and shares.cpp: any elements of a stream, in any order.
#include "pipeline/stream_source.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "container/streams.hpp"
#include "pipeline/copy.hpp"
#include "pipeline/shares.hpp"
#include "support/random_dump.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

void fill(MemoryDump& dump, std::mt19937_64& gen) {
    for (const std::uint64_t n : {5u, 0u, 600u, 262145u, 16383u, 16384u, 0u, 40000u, 7u, 700000u, 20u})
        add_random(dump, below(gen, 5) ? DType::f32 : DType::f16, n, gen, true);
    add_random(dump, DType::u8, 30000, gen, false);
}

std::unique_ptr<StreamSource> open(std::shared_ptr<ByteSource> source, std::size_t index = 0) {
    auto streams = read_index(*source);
    REQUIRE(streams);
    return StreamSource::make(source, std::move(streams->at(index)));
}

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

TEST_CASE("any chunk of any tensor, in any order and from several threads, is that of the forward decode") {
    std::mt19937_64 gen(1);
    for (const std::string spec : {"nuqsgd", "qsgd:bits=4,bucket=1000+elias", "nuqsgd:bucket=300000+fixed", "none"}) {
        CAPTURE(spec);
        MemoryDump dump;
        fill(dump, gen);
        test::Bytes bytes = encoded(dump, options_of(spec, 1)).bytes;
        bytes += encoded(dump, options_of(spec, 2)).bytes;
        const Collected forward = decoded(bytes);
        const std::size_t count = dump.tensors().size();
        const auto source = std::make_shared<MemorySource>(bytes);
        for (std::size_t stream = 0; stream < 2; ++stream) {
            const auto random = open(source, stream);
            REQUIRE(random->tensors().size() == count);
            CHECK(random->rereadable());
            std::atomic<int> wrong = 0;
            const auto reader = [&](unsigned seed) {
                std::mt19937_64 mine(seed);
                test::Bytes buffer;
                for (int round = 0; round < 60; ++round) {
                    const std::size_t t = mine() % count;
                    const std::uint64_t width = size_of(dump.tensors()[t].dtype), n = dump.elements(t).size() / width;
                    const std::uint64_t first = n == 0 ? 0 : mine() % n, most = n - first;
                    const std::uint64_t many = mine() % 4 ? std::min<std::uint64_t>(most, mine() % 3000) : most;
                    auto chunks = random->open(t);
                    auto got = (*chunks)->read({first, many}, buffer);
                    const auto want = std::span(forward.elements[stream * count + t]).subspan(first * width);
                    wrong += !got || got->size() != many * width || !same_bytes(*got, want.first(many * width));
                }
            };
            std::thread a(reader, 1u), b(reader, 2u);
            reader(3);
            a.join(), b.join();
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("a stream is a dump: its elements encode without loss") {
    std::mt19937_64 gen(2);
    MemoryDump dump;
    fill(dump, gen);
    const test::Bytes bytes = encoded(dump, options_of("nuqsgd")).bytes;
    const auto source = open(std::make_shared<MemorySource>(bytes));
    const Encoded again = encoded(*source, options_of("none"));
    CHECK(decoded(again.bytes).elements == decoded(bytes).elements);
}

TEST_CASE("only the blocks that are asked for are read; a flipped bit is harmless or refused") {
    std::mt19937_64 gen(3);
    MemoryDump dump;
    for (const std::uint64_t n : {20, 9, 16384, 30}) add_random(dump, DType::f32, n, gen, false);
    const test::Bytes bytes = encoded(dump, options_of("nuqsgd:bits=8")).bytes;
    const auto touched = std::make_shared<TouchedSource>(bytes);
    const auto read = [](std::shared_ptr<ByteSource> source) -> Result<test::Bytes> {
        GRADZ_TRY(auto streams, read_index(*source));
        auto stream = StreamSource::make(source, std::move(streams.front()));
        GRADZ_TRY(auto chunks, stream->open(1));
        test::Bytes buffer;
        GRADZ_TRY(const auto got, chunks->read({2, 5}, buffer));
        return test::Bytes(got.begin(), got.end());
    };
    const auto want = read(touched);
    REQUIRE(want);
    const auto seen = std::count(touched->touched.begin(), touched->touched.end(), true);
    CHECK(seen < 1000);
    CHECK(bytes.size() > 2000);
    test::Bytes damaged = bytes;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += touched->touched[bit / 8] ? 3 : 13) {
        CAPTURE(bit);
        damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        const auto got = read(std::make_shared<MemorySource>(damaged));
        damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        CHECK(static_cast<bool>(got) == !touched->touched[bit / 8]);
        if (got) CHECK(*got == *want);
    }
}

TEST_CASE("a record that is no block, or another block than INDEX says") {
    const auto refusal = [](int type, std::uint64_t block_tensor) {
        test::Bytes body;
        const test::Bytes elements(4);
        write_block_head({0, block_tensor, 1, 0, xxh3_64(elements)}, body);
        ByteWriter(body).bytes(elements);
        HandStream s;
        s.spec(0, "none+fixed").spec(1, "none+zstd:level=1");  // two specs: no run
        s.tensors({tensor("a", {1}, 0), tensor("b", {1}, 1)});
        s.record(type, body, 0, 0).record(3, body, 1, 0);
        IndexBuilder lies;
        for (const int t : {1, 1, 2, 3, 3}) lies.add({static_cast<std::uint8_t>(t), 0, 0, 0});
        if (type != 3) {  // INDEX says that it is one
            HandStream honest;
            honest.spec(0, "none+fixed").spec(1, "none+zstd:level=1");
            honest.tensors({tensor("a", {1}, 0), tensor("b", {1}, 1)});
            honest.record(3, body, 0, 0).record(3, body, 1, 0);
            s.index = honest.index;
        }
        const test::Bytes bytes = s.finish();
        const auto source = open(std::make_shared<MemorySource>(bytes));
        test::Bytes buffer;
        const auto read = (**source->open(0)).read({0, 1}, buffer);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == Errc::corrupt);
        CHECK(read.error().where.starts_with("record at byte "));
        return read.error().what;
    };
    CHECK(refusal(0x85, 0) == "a record of type 133, INDEX says BLOCK");
    CHECK(refusal(3, 1) == "block is not the one that the index names");
}

TEST_CASE("shares of tensors add up to the stream and are those of the report outside runs") {
    std::mt19937_64 gen(4);
    for (const std::string spec : {"nuqsgd", "none", "qsgd:bits=4,bucket=tensor+elias"}) {
        MemoryDump dump;
        fill(dump, gen);
        const Encoded e = encoded(dump, options_of(spec));
        const auto source = open(std::make_shared<MemorySource>(e.bytes));
        const auto shares = output_shares(source->stream());
        REQUIRE(shares.size() == dump.tensors().size());
        CHECK(std::accumulate(shares.begin(), shares.end(), e.report.container_bytes) == e.bytes.size());
        std::vector<bool> in_run(shares.size());
        for (const auto& b : source->stream().blocks)
            for (std::uint64_t t = b.tensor; t < b.tensor + b.tensors; ++t) in_run[t] = b.tensors > 1;
        for (std::size_t t = 0; t < shares.size(); ++t)
            if (!in_run[t]) CHECK(shares[t] == e.report.tensors[t].bytes.output);
    }
}
