// lib/pipeline/large_scales.cpp and held_source.cpp: buckets that are longer than a block.
#include "pipeline/large_scales.hpp"

#include <doctest/doctest.h>

#include "pipeline/held_source.hpp"
#include "support/random_dump.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

struct Plan {
    MemoryDump dump;
    std::vector<Planned> planned;
};

void fill(Plan& plan, const std::string& spec, std::mt19937_64& gen, bool wild) {
    for (const std::uint64_t n : {100u, 700000u, 262144u, 300001u, 0u, 262145u, 600000u})
        add_random(plan.dump, n % 2 ? DType::f64 : DType::f32, n, gen, wild);
    const auto scheme = *Scheme::make(*resolve_spec(spec));
    for (const auto& info : plan.dump.tensors()) plan.planned.push_back({&info, *info.numel(), 0, 0, scheme});
}

}  // namespace

TEST_CASE("scales are those of one long loop, for any number of threads") {
    std::mt19937_64 gen(1);
    for (const std::string spec : {"nuqsgd:bucket=tensor", "nuqsgd:bucket=300000", "qsgdinf:bits=4,bucket=tensor",
                                   "nuqsgd:bucket=262145,norm=linf"}) {
        Plan plan;
        fill(plan, spec, gen, false);
        REQUIRE(has_large_buckets(plan.planned));
        const PlainScheme scheme(plan.planned[0].scheme->text);
        for (const int threads : {1, 2, 7}) {
            const auto scales = large_scales(plan.dump, plan.planned, NonFinite::keep, threads);
            REQUIRE(scales);
            for (std::size_t t = 0; t < plan.planned.size(); ++t) {
                const std::uint64_t n = plan.planned[t].elements;
                if (n <= kChunkTarget) {
                    CHECK((*scales).at(t).empty());
                    continue;
                }
                const std::uint64_t B = scheme.bucket(n), width = size_of(plan.dump.tensors()[t].dtype);
                REQUIRE((*scales).at(t).size() == (n + B - 1) / B);
                for (std::uint64_t b = 0; b * B < n; ++b) {
                    const auto part = plan.dump.elements(t).subspan(b * B * width, std::min(B, n - b * B) * width);
                    const DType dtype = plan.dump.tensors()[t].dtype;
                    const auto want = plain_scale(scheme, dtype, plain_bucket(dtype, part));
                    const Scale got = (*scales)[t][b];
                    CHECK(got.escaped == !want);
                    if (want) CHECK(got.S == *want);
                }
            }
        }
    }
}

TEST_CASE("which buckets are long") {
    std::mt19937_64 gen(2);
    for (const std::string spec : {"nuqsgd", "nuqsgd:bucket=262144", "none", "fp16", "nuqsgd:bucket=1000000"}) {
        Plan plan;
        fill(plan, spec, gen, false);
        CAPTURE(spec);
        CHECK(has_large_buckets(plan.planned) == (spec == "nuqsgd:bucket=1000000"));
    }
}

TEST_CASE("one NaN, one vanished float64 in the last part of a long bucket") {
    MemoryDump dump;
    std::vector<double> zeros(700000);
    zeros[699999] = 1e-320;
    dump.add("vanished", DType::f64, zeros);
    zeros[699999] = std::nan("");
    dump.add("nan", DType::f64, zeros);
    zeros[699999] = 1;
    zeros[3] = 1e-320;
    dump.add("flushed", DType::f64, zeros);
    const Encoded e = encoded(dump, options_of("nuqsgd:bucket=tensor"));
    CHECK(e.report.tensors[0].sums.escaped == 700000);
    CHECK(e.report.tensors[1].sums.escaped == 700000);
    CHECK(e.report.tensors[2].sums.escaped == 0);
    CHECK(e.report.tensors[2].sums.flushed == 1);
    const Collected back = decoded(e.bytes);
    CHECK(same_bytes(back.elements[0], dump.elements(0)));
    CHECK(same_bytes(back.elements[1], dump.elements(1)));
    MemoryDump second;  // what vanished in one bucket is forgotten in the next
    zeros[699999] = 0;
    zeros[4] = 1;
    second.add("w", DType::f64, zeros);
    CHECK(encoded(second, options_of("nuqsgd:bucket=300000")).report.tensors[0].sums.escaped == 0);
}

TEST_CASE("a pipe is held, to the same bytes; one that does not fit is refused by name") {
    std::mt19937_64 gen(3);
    MemoryDump dump;
    for (const std::uint64_t n : {1000, 700000, 0, 300000}) add_random(dump, DType::f32, n, gen, true);
    auto options = options_of("nuqsgd:bucket=tensor");
    const Encoded file = encoded(dump, options);
    const std::uint64_t whole = 4 * (1000 + 700000 + 300000);
    for (const std::uint64_t memory : {whole, whole - 1, std::uint64_t{0}}) {
        MemoryDump pipe;
        for (std::size_t t = 0; t < 4; ++t) {
            const auto bytes = dump.elements(t);
            pipe.add(dump.tensors()[t], test::Bytes(bytes.begin(), bytes.end()));
        }
        pipe.access = Access::forward;
        pipe.again = false;
        options.memory = memory;
        MemorySink sink;
        const auto report = encode_dump(pipe, {}, options, sink);
        CHECK(static_cast<bool>(report) == (memory == whole));
        if (report) {
            CHECK(sink.bytes == file.bytes);
            CHECK(pipe.finished == 1);
            CHECK(pipe.elements_released == 1001000);
            continue;
        }
        CHECK(report.error().code == Errc::unsupported);
        CHECK(report.error().what.find("--memory") != std::string::npos);
        CHECK(report.error().where == (memory == 0 ? "tensor layer0" : "tensor layer3"));
        CHECK(sink.bytes.empty());
    }
    options.spec = *resolve_spec("nuqsgd");  // one pass: no memory is asked for
    options.memory = 0;
    MemoryDump pipe;
    add_random(pipe, DType::f32, 700000, gen, true);
    pipe.access = Access::forward;
    pipe.again = false;
    MemorySink sink;
    CHECK(encode_dump(pipe, {}, options, sink));
}

TEST_CASE("what is held can be read again, in any order") {
    std::mt19937_64 gen(4);
    MemoryDump pipe;
    for (const std::uint64_t n : {0, 5, 600000}) add_random(pipe, DType::f64, n, gen, true);
    pipe.access = Access::forward;
    pipe.again = false;
    auto held = hold(pipe, 1 << 30);
    REQUIRE(held);
    CHECK((*held)->rereadable());
    for (int round = 0; round < 2; ++round)
        for (std::size_t t = 3; t-- > 0;) {
            const auto all = read_elements(**held, t, 70001);
            CHECK(same_bytes(*all, pipe.elements(t)));
        }
    pipe.broken = 2;
    pipe.again = true;
    CHECK(hold(pipe, 1 << 30).error().where == "tensor layer2");
}
