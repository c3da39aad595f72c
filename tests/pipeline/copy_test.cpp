// lib/pipeline/copy.cpp and feed.cpp: elements in order, slices of them.
#include "pipeline/copy.hpp"

#include <doctest/doctest.h>

#include "pipeline/feed.hpp"
#include "support/random_dump.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

void fill(MemoryDump& dump, std::mt19937_64& gen) {
    const std::vector<std::uint64_t> shapes[] = {{7, 3}, {0}, {600000}, {5, 0, 2}, {1}, {300, 1000}, {2, 262144}, {11}};
    for (const auto& shape : shapes) {
        const TensorInfo info{"t" + std::to_string(dump.tensors().size()), shape,
                              below(gen, 2) ? DType::f32 : DType::i16};
        dump.add(info, random_elements(info.dtype, *info.numel(), gen, true));
    }
}

Result<std::vector<test::Bytes>> copied(MemoryDump& dump, Slice slice, int threads) {
    std::vector<test::Bytes> out(dump.tensors().size());
    std::size_t last = 0;
    const ElementSink sink = [&](std::size_t t, std::uint64_t first, std::span<const std::byte> bytes) -> Result<Done> {
        if (t < last || first * size_of(dump.tensors()[t].dtype) != out[t].size())
            return Error{Errc::io, "out of order", ""};
        last = t;
        out[t].insert(out[t].end(), bytes.begin(), bytes.end());
        return Done{};
    };
    GRADZ_TRY([[maybe_unused]] auto done, copy_elements(dump, slice, sink, threads));
    return out;
}

}  // namespace

TEST_CASE("slices of rows, from sources of either kind") {
    std::mt19937_64 gen(1);
    MemoryDump dump;
    fill(dump, gen);
    const std::uint64_t bounds[] = {0, 1, 2, 5, 7, 299, 300, 301, 262145, 599999, 1000000, UINT64_MAX};
    for (const std::uint64_t begin : bounds)
        for (const std::uint64_t end : bounds) {
            if (below(gen, 3)) continue;
            CAPTURE(begin);
            CAPTURE(end);
            dump.access = below(gen, 2) ? Access::random : Access::forward;
            const auto out = copied(dump, {begin, end}, 1 + static_cast<int>(below(gen, 4)));
            REQUIRE(out);
            for (std::size_t t = 0; t < dump.tensors().size(); ++t) {
                const TensorInfo& info = dump.tensors()[t];
                auto cut = sliced(info, {begin, end});
                const std::uint64_t rows = info.shape[0];
                const std::uint64_t low = std::min(begin, rows), high = std::max(low, std::min(end, rows));
                CHECK(cut->shape[0] == high - low);
                const std::size_t row = rows == 0 ? 0 : dump.elements(t).size() / rows;
                CHECK(same_bytes((*out).at(t), dump.elements(t).subspan(low * row, (high - low) * row)));
            }
        }
    CHECK(dump.elements_read == dump.elements_released);
}

TEST_CASE("a tensor without axes has no slice, and is copied whole") {
    MemoryDump dump;
    dump.add({"scalar", {}, DType::f32}, test::Bytes(4));
    CHECK(copied(dump, {}, 1)->at(0).size() == 4);
    CHECK(sliced(dump.tensors()[0], {})->shape.empty());
    for (const Slice slice : {Slice{0, 1}, Slice{1, UINT64_MAX}}) {
        CHECK(sliced(dump.tensors()[0], slice).error().code == Errc::invalid_argument);
        const auto none = copied(dump, slice, 1);
        CHECK(none.error().code == Errc::invalid_argument);
        CHECK(none.error().where == "tensor scalar");
    }
}

TEST_CASE("errors of the source name the tensor once, those of the sink come through") {
    std::mt19937_64 gen(2);
    MemoryDump dump;
    fill(dump, gen);
    for (const Access access : {Access::random, Access::forward}) {
        dump.access = access;
        dump.broken = 5;
        CHECK(copied(dump, {}, 3).error().where == "tensor t5");
        CHECK(copied(dump, {100, 200}, 3).error().where == "tensor t5");
        dump.broken = static_cast<std::size_t>(-1);
        const ElementSink full = [](std::size_t, std::uint64_t, std::span<const std::byte>) -> Result<Done> {
            return Error{Errc::io, "no space left", ""};
        };
        CHECK(copy_elements(dump, {}, full, 2).error().what == "no space left");
    }
    const Feed feed(dump);
    CHECK(feed.named({Errc::io, "x", "byte 7"}, 0).where == "byte 7 < tensor t0");
    CHECK(feed.named({Errc::io, "x", "byte 7 < tensor t0"}, 0).where == "byte 7 < tensor t0");
    CHECK(feed.named({Errc::io, "x", ""}, 0).where == "tensor t0");
}
