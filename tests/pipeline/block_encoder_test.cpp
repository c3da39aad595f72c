// lib/pipeline/block_encoder.cpp: what cannot be represented is stored exactly and counted,
// and the policies on NaN and infinity.
#include "pipeline/block_encoder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "container/reader.hpp"
#include "support/random_dump.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

// One bucket of 64 among others: it has the values of `odd`, and 0 otherwise.
struct Case {
    const char* name;
    DType dtype;
    std::vector<double> odd;
    bool escaped;
    std::uint64_t nonfinite = 0, flushed = 0;
};

const Case kCases[] = {
    {"zeros of both signs", DType::f32, {0.0, -0.0}, false},
    {"NaN", DType::f32, {1, kNan}, true, 1},
    {"infinity", DType::f32, {kInf, 1, -kInf}, true, 2},
    {"the smallest normal scale", DType::f32, {0x1p-126}, false},
    {"a subnormal scale", DType::f32, {0x1.fffffcp-127}, true},
    {"squares that underflow in float32", DType::f32, {1e-30, 2e-30}, false},
    {"the largest float32", DType::f32, {-0x1.fffffep127}, false},
    {"a norm beyond float32", DType::f32, {3e38, 3e38}, true},
    {"float64 beyond float32", DType::f64, {1, 1e39}, true},
    {"zero but for a vanished float64", DType::f64, {0, 1e-300}, true},
    {"float64 that vanishes beside others", DType::f64, {1, 1e-300, -1e-310, 0}, false, 0, 2},
    {"NaN in float64", DType::f64, {kNan}, true, 1},
    {"a norm beyond float16", DType::f16, {60000, 60000}, true},
    {"the largest float16", DType::f16, {65504}, false},
    {"infinity in float16", DType::f16, {-kInf}, true, 1},
    {"the smallest float16", DType::f16, {0x1p-24}, false},
    {"a norm beyond bfloat16", DType::bf16, {2.9e38, 2.9e38}, true},
    {"a subnormal bfloat16", DType::bf16, {0x1p-130}, true},
};

test::Bytes elements_of(const Case& c, std::size_t at, std::size_t n) {
    std::mt19937_64 gen(1);
    test::Bytes bytes = random_elements(c.dtype, n, gen, false);
    const std::size_t width = size_of(c.dtype);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at * width), 64 * width, std::byte{});
    for (std::size_t i = 0; i < c.odd.size(); ++i) {
        std::byte* to = bytes.data() + (at + i) * width;
        if (c.dtype == DType::f64) std::memcpy(to, &c.odd[i], width);
        else plain_store(c.dtype, static_cast<float>(c.odd[i]), to);
    }
    return bytes;
}

MemoryDump& fill(MemoryDump& dump, const Case& c, test::Bytes elements) {
    const std::uint64_t n = elements.size() / size_of(c.dtype);
    dump.add({"odd", {n}, c.dtype}, std::move(elements));
    return dump;
}

}  // namespace

TEST_CASE("a bucket that cannot be represented comes back bit for bit, its neighbours quantized") {
    for (const Case& c : kCases)
        for (const std::string spec : {"nuqsgd:bits=4,bucket=64", "qsgd:bits=3,bucket=64,norm=l2+elias"}) {
            CAPTURE(c.name);
            CAPTURE(spec);
            MemoryDump dump;
            fill(dump, c, elements_of(c, 640, 64 * 40));
            const Encoded e = encoded(dump, options_of(spec));
            const Sums& sums = e.report.tensors[0].sums;
            CHECK(sums.escaped == (c.escaped ? 64 : 0));
            CHECK(sums.nonfinite == c.nonfinite);
            CHECK(sums.flushed == c.flushed);
            const Collected back = decoded(e.bytes);
            const auto in = dump.elements(0), out = std::span<const std::byte>(back.elements[0]);
            const std::size_t width = size_of(c.dtype), at = 640 * width, size = 64 * width;
            if (c.escaped) CHECK(same_bytes(out.subspan(at, size), in.subspan(at, size)));
            CHECK_FALSE(same_bytes(out.first(at), in.first(at)));  // quantized
            CHECK(same_bytes(
                out, plain_tensor(PlainScheme(e.report.tensors[0].spec), c.dtype, in, back.headers[0].key).bytes));
            CHECK(std::isfinite(sums.error2));
        }
}

TEST_CASE("zeros come back as +0, and in a table without zero too") {
    for (const char* spec :
         {"nuqsgd:bits=4", "nuqsgd:bits=4,zero=no", "nuqsgd:bits=1,zero=no+elias", "qsgdinf+fixed"}) {
        MemoryDump dump;
        std::vector<float> zeros(2000);
        for (std::size_t i = 0; i < zeros.size(); i += 3) zeros[i] = -0.0f;
        dump.add("zeros", DType::f32, zeros);
        const Encoded e = encoded(dump, options_of(spec));
        const Collected back = decoded(e.bytes);
        CHECK(std::all_of(back.elements[0].begin(), back.elements[0].end(),
                          [](std::byte b) { return b == std::byte{}; }));
        CHECK(e.report.tensors[0].sums.escaped == 0);
    }
}

TEST_CASE("casts escape what their type cannot hold") {
    MemoryDump dump;
    std::vector<float> values(512 * 4, 0.25f);
    values[600] = 65520.0f;  // rounds to infinity in float16
    values[1100] = 65519.0f;
    values[1600] = std::nanf("");
    dump.add("w", DType::f32, values);
    const Sums sums = encoded(dump, options_of("fp16")).report.tensors[0].sums;
    CHECK(sums.escaped == 2 * 512);
    CHECK(sums.nonfinite == 1);
    values[600] = 0x1.ffp127f;
    MemoryDump wide;
    wide.add("w", DType::f32, values);
    CHECK(encoded(wide, options_of("bf16")).report.tensors[0].sums.escaped == 2 * 512);
}

TEST_CASE("policy error names tensor and element, in a run, a chunk, a lossless tensor and a long bucket") {
    for (const std::string spec : {"nuqsgd", "none", "nuqsgd:bucket=tensor"})
        for (const std::uint64_t n : {100, 20000, 600000})
            for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
                std::mt19937_64 gen(n);
                MemoryDump dump;
                add_random(dump, DType::f32, 50, gen, false);
                test::Bytes bytes = random_elements(dtype, n, gen, false);
                for (const std::uint64_t at : {n - 7, n - 3}) {
                    std::byte* to = bytes.data() + at * size_of(dtype);
                    if (dtype == DType::f64) std::memcpy(to, &kNan, sizeof kNan);
                    else plain_store(dtype, -HUGE_VALF, to);
                }
                dump.add({"bad", {n}, dtype}, std::move(bytes));
                auto options = options_of(spec);
                options.nonfinite = NonFinite::error;
                MemorySink sink;
                const auto failed = encode_dump(dump, {}, options, sink);
                REQUIRE_FALSE(failed);
                CHECK(failed.error().code == Errc::nonfinite);
                CHECK(failed.error().where == "element " + std::to_string(n - 7) + " < tensor bad");
            }
}

TEST_CASE("policy zero replaces, counts, and quantizes the rest as if zeros had been there") {
    for (const std::string spec : {"nuqsgd+fixed", "none", "nuqsgd:bucket=tensor", "qsgdinf:bits=4,bucket=300000"})
        for (const std::uint64_t n : {100, 20000, 600000})
            for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
                if (n == 600000 && dtype == DType::bf16) continue;
                CAPTURE(spec);
                CAPTURE(n);
                std::mt19937_64 gen(n);
                const test::Bytes zeros = random_elements(dtype, n, gen, false);
                test::Bytes holes = zeros, plain = zeros;
                for (std::uint64_t at = 5; at < n; at += n / 10) {
                    std::byte* to = holes.data() + at * size_of(dtype);
                    if (dtype == DType::f64) std::memcpy(to, at % 2 ? &kNan : &kInf, sizeof kNan);
                    else plain_store(dtype, at % 2 ? HUGE_VALF : std::nanf(""), to);
                    std::fill_n(plain.data() + at * size_of(dtype), size_of(dtype), std::byte{});
                }
                MemoryDump bad, good;
                bad.add({"w", {n}, dtype}, holes);
                good.add({"w", {n}, dtype}, plain);
                auto options = options_of(spec);
                options.nonfinite = NonFinite::zero;
                const Encoded a = encoded(bad, options), b = encoded(good, options);
                CHECK(a.bytes == b.bytes);
                CHECK(a.report.tensors[0].sums.nonfinite == 10);
                CHECK(a.report.tensors[0].sums.escaped == 0);
                CHECK(b.report.tensors[0].sums.nonfinite == 0);
            }
}

TEST_CASE("a block whose symbols do not pay is stored as elements, and counted as escaped") {
    MemoryDump dump;
    std::vector<float> values(20000, 1.0f);
    for (std::size_t i = 0; i < values.size(); i += 512) values[i] = std::nanf("");
    dump.add("nan", DType::f32, values);
    for (const std::string spec : {"nuqsgd+fixed", "nuqsgd+zstd:level=1", "nuqsgd+elias"}) {
        const Encoded e = encoded(dump, options_of(spec));
        CHECK(e.report.tensors[0].sums.escaped == 20000);
        CHECK(e.report.tensors[0].bytes.code == 0);
        CHECK(e.report.tensors[0].bytes.scale == 0);
        CHECK(same_bytes(decoded(e.bytes).elements[0], dump.elements(0)));
    }
    CHECK(encoded(dump, options_of("nuqsgd+zstd:level=1")).bytes.size() < 4000);  // planes
}

TEST_CASE("a coder that does not gain is replaced by fixed") {
    std::mt19937_64 gen(11);
    MemoryDump dump;  // equal magnitudes at the top of the table: long Elias codes
    std::vector<float> values(4096);
    for (auto& v : values) v = gen() & 1 ? 1.0f : -1.0f;
    dump.add("w", DType::f32, values);
    const Encoded fixed = encoded(dump, options_of("qsgdinf:bits=8+fixed"));
    const Encoded elias = encoded(dump, options_of("qsgdinf:bits=8+elias"));
    CHECK(elias.report.tensors[0].bytes.code == fixed.report.tensors[0].bytes.code);
    CHECK(elias.report.tensors[0].bytes.scale == fixed.report.tensors[0].bytes.scale);
    CHECK(decoded(elias.bytes).elements == decoded(fixed.bytes).elements);
}

TEST_CASE("one encoder for blocks of several schemes: figures are those of fresh ones") {
    std::mt19937_64 gen(12);
    const test::Bytes bytes = random_elements(DType::f32, 5000, gen, false);
    const TensorInfo info{"w", {5000}, DType::f32};
    BlockEncoder reused;
    for (const std::string spec : {"nuqsgd", "qsgd:bits=4", "none", "nuqsgd:bits=3", "fp16", "nuqsgd:bits=8"}) {
        const Planned planned{&info, 5000, 1, 0, *Scheme::make(*resolve_spec(spec))};
        const PartInput part{&planned, 0, 5000, bytes, {}};
        const BlockPlan plan{0, {{0, 0, 5000}}, 1};
        BlockEncoder fresh;
        REQUIRE(reused.encode({&part, 1}, plan, NonFinite::keep, StatsLevel::full));
        REQUIRE(fresh.encode({&part, 1}, plan, NonFinite::keep, StatsLevel::full));
        CHECK(same_bytes(reused.record(), fresh.record()));
        CHECK(reused.results()[0].sums == fresh.results()[0].sums);
        CHECK(reused.results()[0].output == reused.record().size());
    }
}
