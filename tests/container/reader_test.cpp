// lib/container/reader.cpp: forward and by the index the same is seen, and disorder is refused.
#include "container/reader.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "streams.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

void check_both_ways(const Bytes& bytes, std::size_t streams) {
    auto forward = read_forward(bytes), indexed = read_by_index(bytes);
    REQUIRE_MESSAGE(forward, forward.error().what << ", " << forward.error().where);
    REQUIRE_MESSAGE(indexed, indexed.error().what << ", " << indexed.error().where);
    CHECK(forward->size() == streams);
    CHECK(same(*forward, *indexed));
}

// Both readers refuse, with a place, and the forward one with this code.
void check_refused(const Bytes& bytes, Errc code = Errc::corrupt) {
    auto forward = read_forward(bytes), indexed = read_by_index(bytes);
    REQUIRE_FALSE(forward);
    REQUIRE_FALSE(indexed);
    CAPTURE(forward.error().what);
    CHECK(forward.error().code == code);
    CHECK(forward.error().where.find("record at byte ") != std::string::npos);
    CHECK(indexed.error().code == code);
    CHECK(indexed.error().where.find("record at byte ") != std::string::npos);
}

Origin any_origin() {
    Origin origin;
    origin.set("", "format", "npz");
    return origin;
}

std::vector<TensorHeader> two() { return {tensor("a", {3}), tensor("b", {3}, 0, 0, 0, 0, DType::f16)}; }

}  // namespace

TEST_CASE("forward and by the index: the same") {
    check_both_ways(small_stream(), 1);
    check_refused(PlannedStream().finish());  // no tensors at all
    std::mt19937 gen(1);
    for (int round = 0; round < 50; ++round) {
        const std::uint64_t seed = gen();
        PlannedStream s(seed);
        (void)*s.writer.origin(any_origin());
        s.spec(kNuqsgd);
        s.spec("none");
        for (int batch = 0; batch < 3; ++batch) {
            std::vector<TensorHeader> headers;
            for (auto n = 1 + gen() % 9; n > 0; --n)
                headers.push_back(tensor("t" + std::to_string(n), {gen() % 3 ? gen() % 20000 : gen() % 900000},
                                         gen() % 2, seed, static_cast<std::uint64_t>(batch), gen() >> 20));
            s.batch(headers);
        }
        s.rest = gen() % 50;
        const Bytes bytes = s.finish();
        check_both_ways(bytes, 1);
        auto read = read_forward(bytes);
        CHECK(same((*read)[0].state.tensors, s.state.tensors));
        CHECK((*read)[0].state.header_bytes == s.state.header_bytes);
        CHECK(std::accumulate(s.state.header_bytes.begin(), s.state.header_bytes.end(), std::uint64_t{0}) ==
              s.writer.bytes().tensors);
    }
}

TEST_CASE("5 000 tensors in two batches") {
    PlannedStream s;
    s.spec(kNuqsgd);
    std::vector<TensorHeader> headers;
    for (int i = 0; i < 5000; ++i) headers.push_back(tensor("layer." + std::to_string(i) + ".bias", {50}));
    s.batch({headers.begin(), headers.begin() + 4096});
    s.batch({headers.begin() + 4096, headers.end()});
    const Bytes bytes = s.finish();
    check_both_ways(bytes, 1);
    auto read = read_by_index(bytes);
    CHECK(same((*read)[0].state.tensors, headers));
    CHECK((*read)[0].blocks.size() == 2);
}

TEST_CASE("a record of tensors ends where 2^18 elements are full; a spec has one number") {
    const auto spec = [] { return HandStream().spec(0, "none"); };
    const auto empty = tensor("b", {0}), full = tensor("a", {1 << 18});
    check_both_ways(spec().tensors({full}).block(0).tensors({empty}).finish(), 1);
    check_refused(spec().tensors({full, empty}).block(0).finish());
    check_refused(spec().spec(1, "none").tensors({empty}).finish());
}

TEST_CASE("streams one after another") {
    Bytes bytes;
    for (std::uint64_t n = 1; n <= 3; ++n) {
        bytes += n == 2 ? empty_stream(9) : small_stream(n);
        check_both_ways(bytes, n);
        auto read = read_by_index(bytes);
        CHECK(read->back().state.head.seed == (n == 2 ? 9 : n));
        CHECK(read->back().begin + read->back().length == bytes.size());
    }
    for (const Bytes& garbage : {bytes_of({0}), Bytes(40, std::byte{0}), bytes_of({'a', 'b', 'c'}), Bytes(500)}) {
        Bytes between = small_stream();
        const std::size_t first = between.size();
        between += garbage;
        CHECK(read_forward(between).error().code == Errc::corrupt);
        CHECK(read_forward(between).error().where == "head at byte " + std::to_string(first));
        CHECK_FALSE(read_by_index(between));
        between += small_stream();
        CHECK_FALSE(read_forward(between));
        CHECK(read_by_index(between).error().code == Errc::corrupt);
        CHECK(read_by_index(between).error().where == "end at byte " + std::to_string(first + garbage.size()));
    }
}

TEST_CASE("what is no stream") {
    CHECK(read_forward(Bytes{}).error().code == Errc::truncated);
    CHECK(read_by_index(Bytes{}).error().code == Errc::truncated);
    for (const std::size_t n : {1, 7, 8, 39, 40, 80, 100000}) {
        CHECK(read_forward(Bytes(n)).error().what == "not a gradz stream");
        CHECK(read_by_index(Bytes(n)).error().what == "not a gradz stream");
    }
}

TEST_CASE("unknown records: skipped with bit 7, refused without") {
    HandStream s;
    s.record(0xff, bytes_of({1, 2, 3})).origin(any_origin()).record(0x85, {});
    s.spec(0, kNuqsgd).tensors(two()).block(0).record(0x90, Bytes(100)).block(1);
    check_both_ways(s.finish(), 1);
    const Bytes bytes = s.finish();
    MemorySource source(bytes, false);
    StreamReader reader(source);
    std::vector<int> types;
    for (auto step = reader.next(); *step; step = reader.next())
        if ((*step)->kind == StepKind::record) types.push_back((*step)->record.type);
    CHECK(types == std::vector<int>{0xff, 0x81, 0x85, 0x01, 0x02, 0x03, 0x90, 0x03});
    CHECK(reader.state().origin == any_origin());
    for (const int type : {0x00, 0x05, 0x7f}) check_refused(HandStream().record(type, {}).finish(), Errc::incompatible);
}

TEST_CASE("records out of order") {
    check_refused(HandStream().spec(0, kNuqsgd).origin(any_origin()).finish());
    check_refused(HandStream().spec(0, "none").tensors(two()).block(0).origin(any_origin()).block(1).finish());
    check_refused(HandStream().spec(1, kNuqsgd).finish());
    check_refused(HandStream().spec(0, kNuqsgd).spec(0, "none").finish());
    check_refused(HandStream().tensors(two()).spec(0, kNuqsgd).finish());
    check_refused(HandStream().spec(0, "topk:ratio=0.1").finish(), Errc::incompatible);
    check_refused(HandStream().record(4, {}).finish());
    // A spec may come as late as the batch that uses it.
    check_both_ways(HandStream().spec(0, "none").tensors(two()).block(0).spec(1, kNuqsgd).block(1).finish(), 1);
}

TEST_CASE("blocks out of order, doubled, missing") {
    const auto start = [] {
        HandStream s;
        s.spec(0, kNuqsgd).tensors(two());
        return s;
    };
    check_both_ways(start().block(0).block(1).finish(), 1);
    check_refused(start().finish());
    check_refused(start().block(0).finish());
    check_refused(start().block(1).block(0).finish());
    check_refused(start().block(0).block(0).block(1).finish());
    check_refused(start().block(0).block(1).block(1).finish());
    check_refused(start().block(0, 1, 1).block(1).finish());
    check_refused(start().block(0).tensors({tensor("c", {1})}).block(1).block(2).finish());
    check_refused(HandStream().spec(0, kNuqsgd).block(0).tensors(two()).finish());
    // Of a block that says something else of itself than INDEX, only the forward reader learns.
    CHECK_FALSE(read_forward(start().block(0, 2).block(1).finish()));
    CHECK_FALSE(read_forward(start().block(0, 1, 0, 7).block(1).finish()));
    HandStream large;
    large.spec(0, kNuqsgd).tensors({tensor("a", {600000})});
    check_both_ways(HandStream(large).block(0).block(0, 1, 1).block(0, 1, 2).finish(), 1);
    check_refused(HandStream(large).block(0).block(0, 1, 1).finish());
    check_refused(HandStream(large).block(0).block(0, 1, 2).block(0, 1, 1).finish());
}

TEST_CASE("tensors that cannot be") {
    const auto with = [](const std::vector<TensorHeader>& tensors) {
        HandStream s;
        s.spec(0, kNuqsgd).spec(1, "none").tensors(tensors);
        return s;
    };
    const TensorHeader a = tensor("a", {0});
    check_both_ways(with({a, tensor("a", {0}, 0, 0, 1), tensor("a", {0}, 0, 0, 0, 1)}).finish(), 1);
    check_refused(with({a, a}).finish());
    check_refused(with({a}).tensors({a}).finish());
    check_refused(with({tensor("a", {0}, 0, 1)}).finish());  // the key of another seed
    check_refused(with({tensor("a", {0}, 2)}).finish());
    check_refused(with({tensor("a", {std::uint64_t{1} << 61})}).finish());
    check_refused(with({tensor("a", {0}, 0, 0, 0, 0, DType::i8)}).finish());
    check_both_ways(with({tensor("a", {0}, 1, 0, 0, 0, DType::i8)}).finish(), 1);
    auto refused = read_forward(with({a, a}).finish());
    CHECK(refused.error().what == "name, step and worker occur twice");
    CHECK(refused.error().where.starts_with("tensor a < record at byte "));
}

TEST_CASE("INDEX must say what went by") {
    HandStream s;
    s.spec(0, kNuqsgd).tensors(two()).block(0).block(1);
    const Bytes right = s.index.contents();
    const auto with = [&](const Bytes& contents) {
        Bytes body;
        (void)*pack(contents, body);
        return s.finish_with(body);
    };
    check_both_ways(with(right), 1);
    for (std::size_t i = 0; i < right.size(); ++i)
        for (const int by : {1, 2, 0x80}) {
            CAPTURE(i);
            Bytes wrong = right;
            wrong[i] ^= static_cast<std::byte>(by);
            CHECK_FALSE(read_forward(with(wrong)));
            CHECK_FALSE(read_by_index(with(wrong)));
        }
    Bytes longer = right;
    longer.push_back(std::byte{0});
    check_refused(with(longer));
    check_refused(with(Bytes(right.begin(), right.end() - 1)));
    check_refused(with({}));
    Bytes huge;
    ByteWriter(huge).varint(std::uint64_t{1} << 62);
    check_refused(s.finish_with(huge));
}

TEST_CASE("memory grows with the bytes that came, not with those announced") {
    Bytes bytes;
    write_head({}, bytes);
    ByteWriter(bytes).little(std::uint8_t{3});
    ByteWriter(bytes).varint(kMaxBody);
    bytes.resize(bytes.size() + 3'000'000);
    MemorySource source(bytes, false);
    CHECK(read_forward(source).error().code == Errc::truncated);
    CHECK(source.largest_read <= 1 << 20);
}

TEST_CASE("what a stream makes its reader remember is bounded by its length") {
    const std::string zeros(10'000'000, '\0');
    Origin origin;
    origin.set("", "attribute:zeros", zeros);
    HandStream s;
    s.origin(origin).origin(origin).spec(0, "none").tensors({tensor("empty", {0})});
    const Bytes bomb = s.finish();
    CHECK(bomb.size() < 10'000);
    check_both_ways(bomb, 1);  // the base is far above
    const auto code_with = [&](const Bytes& bytes, std::uint64_t base) {
        MemorySource pipe(bytes, false), file(bytes);
        StreamReader reader(pipe, base);
        Result<std::optional<StreamStep>> step = reader.next();
        while (step && *step) step = reader.next();
        auto indexed = read_index(file, base);
        CHECK(static_cast<bool>(step) == static_cast<bool>(indexed));
        return step ? std::optional<Errc>() : step.error().code;
    };
    CHECK(code_with(bomb, 21'000'000) == std::nullopt);
    CHECK(code_with(bomb, 15'000'000) == Errc::unsupported);
    // Ordinary streams stay within 64 times their length and need no base.
    CHECK(code_with(small_stream(), 0) == std::nullopt);
    PlannedStream many;
    many.spec(kNuqsgd);
    std::vector<TensorHeader> headers;
    for (int i = 0; i < 4000; ++i) headers.push_back(tensor("module.encoder.layer." + std::to_string(i), {}));
    many.batch(headers);
    CHECK(code_with(many.finish(), 0) == std::nullopt);
}
