// lib/pipeline/encode.cpp and decode.cpp: what comes back is what the definitions say, for
// every quantizer, coder, dtype and bucket; nothing depends on threads or on how a source is read.
#include "pipeline/encode.hpp"

#include <doctest/doctest.h>

#include "coder/coder.hpp"
#include "container/reader.hpp"
#include "core/hash.hpp"
#include "support/random_dump.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

const char* const kQuantizers[] = {"nuqsgd",
                                   "nuqsgd:bits=2,norm=linf",
                                   "nuqsgd:bits=8",
                                   "nuqsgd:s=0",
                                   "nuqsgd:bits=5,p=0.7",
                                   "nuqsgd:p=0.3,rounding=nearest",
                                   "nuqsgd:bits=1,zero=no",
                                   "nuqsgd:bits=4,zero=no,norm=linf,rounding=nearest",
                                   "nuqsgd:rounding=nearest",
                                   "qsgd:bits=2",
                                   "qsgd:s=255",
                                   "qsgd:bits=6,rounding=nearest",
                                   "qsgdinf:bits=3",
                                   "fp16",
                                   "bf16",
                                   "none"};
const char* const kCoders[] = {"fixed", "elias:code=omega", "elias:code=gamma", "elias:code=delta", "zstd:level=1",
                               "rans"};
const char* const kBuckets[] = {"1", "7", "512", "1000", "tensor", "300000"};
const DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

bool is_cast(const std::string& quantizer) { return quantizer.size() <= 4; }  // or none

std::string with_bucket(const std::string& quantizer, const std::string& bucket) {
    if (is_cast(quantizer)) return quantizer;
    return quantizer + (quantizer.find(':') == std::string::npos ? ":" : ",") + "bucket=" + bucket;
}

// Bytes of a block's symbols by `fixed`, scales and escapes.
std::uint64_t symbols_cost(const PlainScheme& scheme, const IndexedBlock& block, const IndexedStream& stream,
                           const std::vector<PlainTensor>& plain) {
    std::uint64_t coded = 0, bytes = 1, pieces = 0;
    for (std::uint64_t t = block.tensor; t < block.tensor + block.tensors; ++t) {
        const std::uint64_t n = stream.state.elements[t], first = block.tensors == 1 ? block.elements.first : 0;
        const std::uint64_t end = block.tensors == 1 ? first + block.elements.count : n, B = scheme.bucket(n);
        for (std::uint64_t at = first; at < end; ++pieces) {
            const std::uint64_t stop = std::min(end, (at / B + 1) * B);
            if (plain[t].exact[at / B]) bytes += (stop - at) * size_of(stream.state.tensors[t].info.dtype);
            else coded += stop - at, bytes += scheme.has_scales() ? 4 : 0;
            at = stop;
        }
    }
    return bytes + (pieces + 7) / 8 + fixed_bytes(coded, scheme.alphabet());
}

// The values that the stream must decode to. A block of raw elements is right only where symbols would not gain.
std::vector<PlainTensor> expected(const MemoryDump& dump, const test::Bytes& bytes) {
    MemorySource source(bytes);
    auto streams = read_index(source);
    REQUIRE(streams);
    const IndexedStream& stream = streams->front();
    std::vector<PlainTensor> plain;
    for (std::size_t t = 0; t < dump.tensors().size(); ++t) {
        const TensorHeader& h = stream.state.tensors[t];
        plain.push_back(plain_tensor(PlainScheme(stream.state.specs[h.spec]), h.info.dtype, dump.elements(t), h.key));
    }
    for (const auto& block : stream.blocks) {
        test::Bytes buffer;
        auto record = read_record_at(source, block.offset, block.length, buffer);
        ByteReader body(record->body);
        const DType dtype = dump.tensors()[block.tensor].dtype;
        const PlainScheme scheme(stream.state.specs[stream.state.tensors[block.tensor].spec]);
        if (read_block_head(body)->coding >= kSymbols) continue;
        const std::uint64_t width = size_of(dtype), first = block.tensors == 1 ? block.elements.first * width : 0;
        const bool gains =
            !scheme.lossless() && symbols_cost(scheme, block, stream, plain) < block.elements.count * width;
        CHECK(!gains);
        for (std::uint64_t t = block.tensor; t < block.tensor + block.tensors; ++t) {
            plain[t].raw = true;
            const auto all = dump.elements(t).subspan(first);
            const auto part = block.tensors == 1 ? all.first(block.elements.count * width) : all;
            std::copy(part.begin(), part.end(), plain[t].bytes.begin() + static_cast<std::ptrdiff_t>(first));
        }
    }
    return plain;
}

// Everything that must hold of a dump and its stream.
void check_stream(const MemoryDump& dump, const Encoded& e, std::uint64_t seed) {
    const auto plain = expected(dump, e.bytes);
    const Collected back = decoded(e.bytes);
    REQUIRE(back.headers.size() == dump.tensors().size());
    std::uint64_t output = e.report.container_bytes;
    for (std::size_t t = 0; t < plain.size(); ++t) {
        const TensorInfo& info = dump.tensors()[t];
        const TensorReport& report = e.report.tensors[t];
        CAPTURE(t);
        CAPTURE(back.elements[t].size());
        CHECK(back.headers[t].info.name == info.name);
        CHECK(back.headers[t].info.shape == info.shape);
        CHECK(back.headers[t].info.dtype == info.dtype);
        CHECK(back.headers[t].key == tensor_key(seed, info.step, info.worker, info.name));
        CHECK(same_bytes(back.elements[t], plain[t].bytes));
        CHECK(report.bytes.input == plain[t].bytes.size());
        CHECK(report.bytes.code + report.bytes.scale + report.bytes.header <= report.bytes.output);
        CHECK(report.sums.elements == plain[t].bytes.size() / size_of(info.dtype));
        if (!plain[t].raw) CHECK(report.sums.escaped == plain[t].escaped);
        if (!plain[t].raw) CHECK(report.sums.flushed == plain[t].flushed);
        output += report.bytes.output;
    }
    CHECK(output == e.bytes.size());
}

void fill_small(MemoryDump& dump, std::mt19937_64& gen, bool wild) {
    for (const std::uint64_t n : {0, 1, 2, 511, 512, 513, 16383, 16384, 16385})
        add_random(dump, kTypes[below(gen, 4)], n, gen, wild);
    for (int i = 0; i < 6; ++i) add_random(dump, kTypes[below(gen, 4)], below(gen, 3000), gen, wild);
    add_random(dump, DType::i64, 100, gen, false);
    add_random(dump, DType::boolean, 20000, gen, false);
}

void fill_large(MemoryDump& dump, std::mt19937_64& gen, bool wild) {
    add_random(dump, DType::f32, 262143, gen, wild);
    add_random(dump, DType::f64, 262145, gen, wild);
    add_random(dump, DType::bf16, 3, gen, wild);
    add_random(dump, DType::f32, 700000, gen, wild);
}

}  // namespace

TEST_CASE("every quantizer with every coder, dtype and bucket decodes to what is defined") {
    std::mt19937_64 gen(1);
    std::size_t turn = 0;
    for (const std::string quantizer : kQuantizers)
        for (const std::string coder : kCoders) {
            if (is_cast(quantizer) && coder.starts_with("elias")) continue;
            if (quantizer == "none" && coder == "rans") continue;
            const std::string spec = with_bucket(quantizer, kBuckets[turn++ % std::size(kBuckets)]) + "+" + coder;
            CAPTURE(spec);
            MemoryDump dump;
            fill_small(dump, gen, turn % 3 != 0);
            check_stream(dump, encoded(dump, options_of(spec, turn)), turn);
            CHECK(dump.elements_read == dump.elements_released);
            CHECK(dump.finished == 1);
        }
}

TEST_CASE("tensors of several blocks, buckets longer than a block") {
    std::mt19937_64 gen(2);
    for (const std::string spec : {"nuqsgd:bucket=tensor+fixed", "nuqsgd:bucket=300000+zstd:level=1",
                                   "nuqsgd:bits=3,norm=linf,bucket=tensor+elias", "qsgd:s=255,bucket=300000+fixed",
                                   "nuqsgd:bucket=1000+zstd:level=1", "fp16+fixed"}) {
        CAPTURE(spec);
        MemoryDump dump;
        fill_large(dump, gen, spec == "nuqsgd:bucket=300000+zstd:level=1");
        check_stream(dump, encoded(dump, options_of(spec, 7)), 7);
    }
}

TEST_CASE("neither threads nor the kind of source change bytes or statistics") {
    std::mt19937_64 gen(3);
    for (const std::string spec :
         {"nuqsgd", "qsgd:s=255,bucket=tensor+elias", "nuqsgd:bits=3,bucket=300000,zero=no+fixed"}) {
        CAPTURE(spec);
        MemoryDump dump;
        fill_large(dump, gen, false);
        add_random(dump, DType::f16, 1000, gen, true);
        for (int i = 0; i < 40; ++i) add_random(dump, i % 9 ? DType::f32 : DType::i8, below(gen, 900), gen, true);
        const Encoded one = encoded(dump, options_of(spec, 5, 1));
        const Collected back = decoded(one.bytes, 1);
        for (const int threads : {2, 7})
            for (const Access access : {Access::random, Access::forward}) {
                dump.access = access;
                const Encoded other = encoded(dump, options_of(spec, 5, threads));
                CHECK(other.bytes == one.bytes);
                CHECK(other.report.container_bytes == one.report.container_bytes);
                for (std::size_t t = 0; t < one.report.tensors.size(); ++t) {
                    CHECK(other.report.tensors[t].sums == one.report.tensors[t].sums);
                    CHECK(other.report.tensors[t].bytes == one.report.tensors[t].bytes);
                }
                CHECK(decoded(other.bytes, threads).elements == back.elements);
            }
        CHECK(encoded(dump, options_of(spec, 6)).bytes != one.bytes);  // the seed
    }
}

TEST_CASE("statistics are no part of the stream, and less of them are the same figures") {
    std::mt19937_64 gen(4);
    MemoryDump dump;
    fill_small(dump, gen, true);
    EncodeOptions options = options_of("nuqsgd+fixed");
    const Encoded full = encoded(dump, options);
    options.stats = StatsLevel::error;
    const Encoded error = encoded(dump, options);
    options.stats = StatsLevel::none;
    CHECK(encoded(dump, options).bytes == full.bytes);
    CHECK(error.bytes == full.bytes);
    for (std::size_t t = 0; t < full.report.tensors.size(); ++t) {
        const Sums &a = full.report.tensors[t].sums, &b = error.report.tensors[t].sums;
        CHECK(a.norm2 == b.norm2);
        CHECK(a.error2 == b.error2);
        CHECK(a.variance_bound == b.variance_bound);
        CHECK(a.escaped == b.escaped);
        CHECK(a.flushed == b.flushed);
    }
}

TEST_CASE("none gives the bits back, at any level") {
    std::mt19937_64 gen(5);
    MemoryDump dump;
    fill_small(dump, gen, true);
    for (const auto& row : kDTypes) add_random(dump, static_cast<DType>(&row - kDTypes), 300 + row.bytes, gen, false);
    for (const std::string spec : {"none", "none+fixed", "none+zstd:level=19"}) {
        const Encoded e = encoded(dump, options_of(spec));
        const Collected back = decoded(e.bytes);
        for (std::size_t t = 0; t < dump.tensors().size(); ++t) {
            CHECK(same_bytes(back.elements[t], dump.elements(t)));
            CHECK(e.report.tensors[t].sums.error2 == 0);
            CHECK(e.report.tensors[t].sums.escaped == 0);
        }
    }
}

TEST_CASE("rules: what cannot be quantized, would not gain or is too small stays lossless") {
    std::mt19937_64 gen(6);
    MemoryDump dump;
    add_random(dump, DType::f32, 1000, gen, false);
    add_random(dump, DType::f32, 99, gen, false);
    add_random(dump, DType::i32, 1000, gen, false);
    add_random(dump, DType::f32, 1, gen, false);  // a scale and a symbol are 5 bytes
    EncodeOptions options = options_of("nuqsgd");
    options.min_elements = 100;
    const Encoded e = encoded(dump, options);
    CHECK(e.report.tensors[0].rule == kRuleCommand);
    CHECK(e.report.tensors[1].rule == kRuleSmall);
    CHECK(e.report.tensors[2].rule == kRuleDtype);
    options.min_elements = 0;
    CHECK(encoded(dump, options).report.tensors[1].rule == kRuleCommand);
    CHECK(encoded(dump, options).report.tensors[3].rule == kRuleNoGain);
    const Collected back = decoded(e.bytes);
    for (std::size_t t = 1; t < 4; ++t) {
        CHECK(e.report.tensors[t].alphabet == 0);
        CHECK(e.report.tensors[t].spec == "none+zstd:level=1");
        CHECK(same_bytes(back.elements[t], dump.elements(t)));
    }
    CHECK(e.report.tensors[0].alphabet == 15);
    CHECK(e.report.tensors[0].unbiased);
    MemoryDump casts;  // two bytes become two bytes
    add_random(casts, DType::bf16, 4000, gen, false);
    CHECK(encoded(casts, options_of("fp16")).report.tensors[0].rule == kRuleNoGain);
}

TEST_CASE("a step, a worker or a name changes the random words, the dtype of a name does not") {
    MemoryDump dump;
    const std::vector<float> ones(4096, 0.3f);
    const auto bytes = std::as_bytes(std::span(ones));
    for (std::uint64_t i = 0; i < 3; ++i)
        dump.add({"w", {4096}, DType::f32, i == 1, i == 2}, test::Bytes(bytes.begin(), bytes.end()));
    dump.add({"v", {4096}, DType::f32}, test::Bytes(bytes.begin(), bytes.end()));
    const Collected back = decoded(encoded(dump, options_of("nuqsgd")).bytes);
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < i; ++j) CHECK(back.elements[i] != back.elements[j]);
}

TEST_CASE("progress adds up to the input") {
    std::mt19937_64 gen(8);
    MemoryDump dump;
    fill_small(dump, gen, true);
    EncodeOptions options = options_of("nuqsgd", 0, 3);
    std::uint64_t seen = 0, input = 0;
    options.progress = [&](std::uint64_t bytes) { seen += bytes; };
    const Encoded e = encoded(dump, options);
    for (const auto& t : e.report.tensors) input += t.bytes.input;
    CHECK(seen == input);
}

TEST_CASE("errors of source and sink, and no tensors at all") {
    std::mt19937_64 gen(9);
    MemoryDump dump;
    fill_small(dump, gen, true);
    const auto options = options_of("nuqsgd");
    const std::size_t whole = encoded(dump, options).bytes.size();
    for (std::size_t most = 0; most < whole; most += whole / 97) {
        MemorySink sink;
        sink.most = most;
        const auto full = encode_dump(dump, {}, options, sink);
        CHECK(full.error().code == Errc::io);
    }
    dump.broken = 5;
    for (const Access access : {Access::random, Access::forward}) {
        dump.access = access;
        MemorySink sink;
        const auto broken = encode_dump(dump, {}, options, sink);
        CHECK(broken.error().what == "cannot be read");
        CHECK(broken.error().where == "tensor layer5");
    }
    MemoryDump empty;
    MemorySink sink;
    const auto none = encode_dump(empty, {}, options, sink);
    CHECK(none.error().code == Errc::invalid_argument);
    CHECK(sink.bytes.empty());
}
