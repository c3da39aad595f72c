// lib/pipeline/device.cpp, engine_blocks.cpp and lib/kernels/cuda: streams, figures and decoded
// elements are those of the CPU. The bodies of the device's kernels run on the host here; where
// there is a device, it runs them too (label cuda).
#include "pipeline/device.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "pipeline/encode.hpp"
#include "support/host_engine.hpp"
#include "support/random_dump.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

const char* const kSpecs[] = {"nuqsgd:bucket=512",
                              "nuqsgd:bits=2,norm=linf,bucket=7",
                              "nuqsgd:bits=8,bucket=1000",
                              "nuqsgd:s=126,bucket=100",  // the smallest level is the smallest normal float
                              "nuqsgd:bits=5,p=0.7,bucket=512",
                              "nuqsgd:p=0.3,rounding=nearest,bucket=1",
                              "nuqsgd:bits=1,zero=no,bucket=513",
                              "nuqsgd:bits=8,p=0.9,zero=no,norm=linf,bucket=tensor",
                              "nuqsgd:bits=4,zero=no,rounding=nearest,bucket=64",
                              "nuqsgd:rounding=nearest,bucket=tensor",
                              "qsgd:s=255,bucket=4096",  // two bytes a symbol
                              "qsgd:bits=6,rounding=nearest,bucket=512",
                              "qsgdinf:bits=3,bucket=300000",
                              "nuqsgd:bits=3,p=0.3,bucket=300000",
                              "fp16",
                              "none"};

void fill(MemoryDump& dump, std::mt19937_64& gen, bool wild) {
    const DType types[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
    for (const DType type : types)
        for (const std::uint64_t n : {0, 1, 127, 129, 2047, 5000}) add_random(dump, type, n, gen, wild);
    add_random(dump, DType::i32, 50, gen, false);
    for (const DType type : types) add_random(dump, type, 16384 + below(gen, 5000), gen, wild);
    add_random(dump, DType::f32, 270001, gen, wild);  // two blocks
}

Collected decoded_on(const Device& device, std::span<const std::byte> bytes) {
    MemorySource source(bytes, false);
    Collected out;
    auto done = decode_streams(source, out, 2, nullptr, device);
    if (!done) FAIL(done.error().what << " (" << done.error().where << ")");
    return out;
}

void check_same(const Device& device, const std::string& spec, MemoryDump& dump, std::uint64_t seed) {
    CAPTURE(spec);
    const bool first = spec == kSpecs[0];
    for (const StatsLevel level : {StatsLevel::full, StatsLevel::error, StatsLevel::none}) {
        if (level != StatsLevel::full && !first) continue;
        EncodeOptions options = options_of(spec + "+fixed", seed);
        options.stats = level;
        const Encoded cpu = encoded(dump, options);
        options.device = &device;
        const Encoded other = encoded(dump, options);
        REQUIRE(other.bytes == cpu.bytes);
        for (std::size_t t = 0; t < dump.tensors().size(); ++t) {
            CHECK(other.report.tensors[t].sums == cpu.report.tensors[t].sums);
            CHECK(other.report.tensors[t].bytes == cpu.report.tensors[t].bytes);
        }
        if (level == StatsLevel::full) CHECK(decoded_on(device, cpu.bytes).elements == decoded(cpu.bytes).elements);
    }
}

// every: takes only that share of the specs.
void check_all(const Device& device, std::initializer_list<bool> wildness, std::size_t every = 1) {
    std::mt19937_64 gen(1);
    for (std::size_t i = 0; i < std::size(kSpecs); i += every)
        for (const bool wild : wildness) {
            MemoryDump dump;
            fill(dump, gen, wild);
            check_same(device, kSpecs[i], dump, gen());
        }
}

}  // namespace

TEST_CASE("the bodies of the device's kernels make the bytes and figures of the CPU, for any grid") {
    for (const std::uint64_t warps : {64, 3}) {
        CAPTURE(warps);
        const auto device =
            engine_device([warps] { return std::unique_ptr<kernels::cuda::BlockEngine>(new HostEngine(warps)); });
        if (warps == 64) check_all(*device, {true, false});
        else check_all(*device, {true}, 4);
    }
}

TEST_CASE("elements whose upper halves tie are rounded by all 32 bits on a device, too") {
    // Thresholds of qsgd with one level are r itself: (h, 0x8000) for as many h as there are elements
    // that draw it would be 2^-16 of them; so r is made of the upper half that the element draws.
    const std::size_t n = 100000;
    MemoryDump dump;
    const TensorInfo info{"t", {n}, DType::f32, 0, 0};
    const auto key = philox_key(tensor_key(9, 0, 0, "t"));
    test::Bytes bytes(n * sizeof(float));
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t h = kernels::philox_half(i, key, kernels::kUpperHalf);
        const float r = i % 512 == 0 ? 1.0f : (static_cast<float>(h) + 0.5f) * 0x1p-16f;
        std::memcpy(bytes.data() + i * sizeof r, &r, sizeof r);
    }
    dump.add(info, bytes);
    const auto device = engine_device([] { return std::unique_ptr<kernels::cuda::BlockEngine>(new HostEngine(5)); });
    check_same(*device, "qsgdinf:s=1,bucket=512", dump, 9);
    const Encoded e = encoded(dump, options_of("qsgdinf:s=1,bucket=512+fixed", 9));
    const double up = *make_figures(e.report.tensors[0].sums, e.report.tensors[0].bytes).nonzero_fraction;
    CHECK(up == doctest::Approx(0.5).epsilon(0.02));  // lower halves decide: half of them are below 0x8000
}

TEST_CASE("a device that fails ends the work with its error and place") {
    std::mt19937_64 gen(2);
    MemoryDump dump;
    fill(dump, gen, false);
    const std::string spec = "nuqsgd+fixed";
    const Encoded cpu = encoded(dump, options_of(spec));
    for (const int launches : {0, 2}) {
        const auto device = engine_device(
            [launches] { return std::unique_ptr<kernels::cuda::BlockEngine>(new HostEngine(8, launches)); });
        EncodeOptions options = options_of(spec, 0, 1);
        options.device = device.get();
        MemorySink sink;
        const auto failed = encode_dump(dump, {}, options, sink);
        REQUIRE(!failed);
        CHECK(failed.error().code == Errc::io);
        CHECK(failed.error().what == "cudaMemcpyAsync: emulated failure");
        MemorySource source(cpu.bytes, false);
        Collected out;
        const auto stopped = decode_streams(source, out, 1, nullptr, *device);
        REQUIRE(!stopped);
        CHECK(stopped.error().code == Errc::io);
    }
    const auto none = engine_device([]() -> Result<std::unique_ptr<kernels::cuda::BlockEngine>> {
        return Error{Errc::io, "cudaStreamCreateWithFlags: out of memory", "CUDA device"};
    });
    EncodeOptions options = options_of(spec);
    options.device = none.get();
    MemorySink sink;
    CHECK(!encode_dump(dump, {}, options, sink));
}

TEST_CASE("symbols outside the alphabet are refused before they reach a device") {
    auto scheme = Scheme::make(*resolve_spec("nuqsgd:bits=3+fixed"));
    const auto device = engine_device([] { return std::unique_ptr<kernels::cuda::BlockEngine>(new HostEngine(4)); });
    auto dequantizer = device->dequantizer();
    const CodedPiece piece{3, false};
    const float scale = 1;
    std::byte out[12];
    for (const unsigned last : {6, 7, 255}) {
        const std::byte symbols[] = {std::byte{0}, std::byte{1}, static_cast<std::byte>(last)};
        const auto done =
            (*dequantizer)->restore({scheme->get(), DType::f32, {&piece, 1}, {&scale, 1}, symbols, {}}, out);
        CHECK(static_cast<bool>(done) == (last < 7));
        if (!done) CHECK(done.error().code == Errc::corrupt);
    }
}

// By itself, since it needs a device: ctest -L cuda.
TEST_CASE("cuda: the device of this machine makes the bytes and figures of the CPU" * doctest::skip()) {
    auto device = cuda_device();
    if (!device) {
        std::printf("skipped: %s\n", device.error().what.c_str());
        std::exit(77);
    }
    check_all(**device, {true, false});
}
