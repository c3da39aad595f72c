// lib/pipeline/describe.cpp: one pass on many threads is the plain loop over chunks.
#include "pipeline/describe.hpp"

#include <doctest/doctest.h>

#include "support/random_dump.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

void fill(MemoryDump& dump, std::mt19937_64& gen, bool only_floats = false) {
    for (const std::uint64_t n : {5u, 0u, 600u, 262145u, 262144u, 0u, 700000u, 20u})
        for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32})
            if (below(gen, 2) && !(only_floats && dtype == DType::i32)) add_random(dump, dtype, n, gen, true);
    add_random(dump, DType::f32, 1000, gen, true);
}

template <class Each>
void for_each_chunk(const MemoryDump& dump, std::size_t t, Each each) {
    const std::uint64_t width = size_of(dump.tensors()[t].dtype), n = dump.elements(t).size() / width;
    for (std::uint64_t at = 0; at < n; at += kChunkTarget) each(at * width, std::min(kChunkTarget, n - at) * width);
}

void check_same(const MomentFigures& a, const MomentFigures& b) {
    CHECK(a.count == b.count);
    CHECK(a.zeros == b.zeros);
    CHECK(a.nan == b.nan);
    CHECK(a.inf == b.inf);
    for (const auto field :
         {&MomentFigures::l1, &MomentFigures::l2, &MomentFigures::linf, &MomentFigures::min, &MomentFigures::max,
          &MomentFigures::mean, &MomentFigures::std, &MomentFigures::skewness, &MomentFigures::kurtosis,
          &MomentFigures::smallest, &MomentFigures::p1, &MomentFigures::p50, &MomentFigures::p99})
        CHECK(a.*field == b.*field);
}

}  // namespace

TEST_CASE("moments of every tensor, and those that must be by counting") {
    std::mt19937_64 gen(1);
    MemoryDump dump;
    fill(dump, gen);
    for (const int threads : {1, 2, 7})
        for (const Access access : {Access::random, Access::forward}) {
            dump.access = access;
            dump.finished = 0;
            const auto got = describe_dump(dump, threads);
            REQUIRE(got);
            CHECK(dump.finished == 1);
            for (std::size_t t = 0; t < dump.tensors().size(); ++t) {
                const DType dtype = dump.tensors()[t].dtype;
                Moments want;
                for_each_chunk(dump, t, [&](std::uint64_t at, std::uint64_t size) {
                    Moments chunk;
                    chunk.add_chunk(dtype, dump.elements(t).subspan(at, size));
                    want.add(chunk);
                });
                const MomentFigures figures = (*got).at(t).figures();
                check_same(figures, want.figures());
                CHECK(figures.count == dump.elements(t).size() / size_of(dtype));
                if (!quantizable(dtype)) continue;
                const Facts facts = facts_of(dtype, dump.elements(t));
                CHECK(figures.nan == facts.nan);
                CHECK(figures.inf == facts.inf);
                CHECK(figures.zeros == facts.zeros);
                if (facts.count > 0) CHECK(figures.linf.value_or(0) == facts.linf);
            }
        }
    CHECK(dump.elements_read == dump.elements_released);
}

TEST_CASE("comparisons of pairs, in any order of the other dump") {
    std::mt19937_64 gen(2);
    MemoryDump a, b;
    fill(a, gen, true);
    const std::size_t count = a.tensors().size();
    std::vector<TensorPair> pairs;
    for (std::size_t t = count; t-- > 0;) {  // reversed, rounded to float32 or as it is
        const DType dtype = a.tensors()[t].dtype, other = t % 2 ? DType::f32 : dtype;
        test::Bytes bytes(a.elements(t).begin(), a.elements(t).end());
        if (other != dtype) bytes = random_elements(other, *a.tensors()[t].numel(), gen, true);
        TensorInfo info = a.tensors()[t];
        info.dtype = other;
        b.add(info, std::move(bytes));
        if (t != 2) pairs.push_back({t, count - 1 - t});
    }
    std::reverse(pairs.begin(), pairs.end());
    for (const int threads : {1, 2, 7})
        for (const Access access : {Access::random, Access::forward}) {
            a.access = access;
            const auto got = compare_dumps(a, b, pairs, threads);
            REQUIRE(got);
            REQUIRE((*got).size() == pairs.size());
            for (std::size_t p = 0; p < pairs.size(); ++p) {
                const DType of_a = a.tensors()[pairs[p].a].dtype, of_b = b.tensors()[pairs[p].b].dtype;
                Comparison want;
                for_each_chunk(a, pairs[p].a, [&](std::uint64_t at, std::uint64_t size) {
                    const std::uint64_t first = at / size_of(of_a), n = size / size_of(of_a);
                    Comparison chunk;
                    chunk.add_chunk(of_a, a.elements(pairs[p].a).subspan(at, size), of_b,
                                    b.elements(pairs[p].b).subspan(first * size_of(of_b), n * size_of(of_b)));
                    want.add(chunk);
                });
                const Comparison& c = (*got)[p];
                CHECK(c.elements() == *a.tensors()[pairs[p].a].numel());
                CHECK(c.differing() == want.differing());
                CHECK(c.nonfinite_differing() == want.nonfinite_differing());
                CHECK(c.nmse() == want.nmse());
                CHECK(c.cosine() == want.cosine());
                CHECK(c.max_abs_error() == want.max_abs_error());
                if (of_a == of_b && pairs[p].a % 2 == 0) CHECK(c.identical());
            }
        }
    CHECK(a.finished == 6);
    CHECK(b.finished == 6);
}

TEST_CASE("what cannot be read is an error of its tensor") {
    std::mt19937_64 gen(3);
    MemoryDump a, b;
    for (MemoryDump* dump : {&a, &b})
        for (int i = 0; i < 5; ++i) add_random(*dump, DType::f32, 1000, gen, false);
    b.broken = 3;
    CHECK(describe_dump(b, 2).error().where == "tensor layer3");
    const TensorPair pairs[] = {{0, 0}, {1, 3}};
    CHECK(compare_dumps(a, b, pairs, 2).error().where == "tensor layer3");
    b.broken = static_cast<std::size_t>(-1);
    CHECK(compare_dumps(a, b, pairs, 2));
}
