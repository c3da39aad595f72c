// lib/pipeline/scheme.cpp: specs made ready to run.
#include "pipeline/scheme.hpp"

#include <doctest/doctest.h>

#include "container/block_order.hpp"
#include "support/plain_codec.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

std::string printed(const char* text) {
    const auto spec = resolve_spec(text);
    return spec ? print_spec(*spec) : spec.error().what;
}

}  // namespace

TEST_CASE("a spec gets the default coder, and prints itself") {
    CHECK(printed("nuqsgd") == "nuqsgd:bits=4,p=0.5,norm=l2,bucket=512,rounding=stochastic,zero=yes+zstd:level=1");
    CHECK(printed("none") == "none+zstd:level=1");
    CHECK(printed("qsgd:bits=3+elias") == "qsgd:bits=3,norm=l2,bucket=512,rounding=stochastic+elias:code=omega");
    for (const auto& quantizer : all_stages())
        for (const auto& coder : all_stages()) {
            if (quantizer.kind != Kind::quantizer || coder.kind != Kind::coder) continue;
            const std::string text = std::string(quantizer.name) + "+" + std::string(coder.name);
            const auto spec = resolve_spec(text);
            const bool levels = (*Scheme::make(*resolve_spec(quantizer.name)))->measure.levels.empty();
            CAPTURE(text);
            const bool refused =
                (coder.name == "elias" && levels) || (coder.name == "rans" && quantizer.name == "none");
            CHECK(static_cast<bool>(spec) == !refused);
            if (!spec) continue;
            CHECK(print_spec(*resolve_spec(print_spec(*spec))) == print_spec(*spec));
            CHECK((*Scheme::make(*spec))->text == print_spec(*spec));
        }
}

TEST_CASE("what is no spec") {
    for (const std::string text :
         {"", "fixed", "zstd:level=1", "fixed+nuqsgd", "nuqsgd+nuqsgd", "nuqsgd+fixed+zstd", "none+elias", "none+rans",
          "fp16+elias", "bf16+elias:code=gamma", "nuqsgd:bits=9", "nuqsgd:bucket=0", "other",
          "nuqsgd:", "nuqsgd:bits=4,bits=4", "nuqsgd:bits=1", "nuqsgd:s=254"}) {
        CAPTURE(text);
        const auto spec = resolve_spec(text);
        CHECK_FALSE(spec);
        if (!spec) CHECK(spec.error().code == Errc::invalid_argument);
    }
}

TEST_CASE("what carries tensors without loss keeps a coder that can") {
    CHECK(print_spec(lossless_spec(*resolve_spec("nuqsgd+fixed"))) == "none+fixed");
    CHECK(print_spec(lossless_spec(*resolve_spec("nuqsgd+zstd:level=7"))) == "none+zstd:level=7");
    CHECK(print_spec(lossless_spec(*resolve_spec("nuqsgd+elias"))) == "none+zstd:level=1");
    CHECK(print_spec(lossless_spec(*resolve_spec("nuqsgd+rans"))) == "none+zstd:level=1");
    CHECK(print_spec(lossless_spec(*resolve_spec("none+zstd:level=3"))) == "none+zstd:level=3");
}

TEST_CASE("buckets and chunks are those that readers take from the text") {
    for (const char* text :
         {"nuqsgd", "nuqsgd:bucket=1", "qsgd:bucket=1000", "qsgdinf:bucket=tensor", "nuqsgd:bucket=262144",
          "nuqsgd:bucket=262145", "nuqsgd:bucket=1099511627776", "none", "fp16", "bf16"})
        for (const std::uint64_t n : {1ull, 512ull, 100000ull, 262144ull, 700000ull, 1ull << 40}) {
            const auto scheme = *Scheme::make(*resolve_spec(text));
            CHECK(scheme->bucket(n) == *bucket_of(scheme->text, n));
            CHECK(scheme->bucket(n) == PlainScheme(scheme->text).bucket(n));
            const std::uint64_t B = scheme->bucket(n), chunk = scheme->chunk(n);
            CHECK((B > kChunkTarget ? chunk == kChunkTarget : chunk % B == 0 && chunk <= kChunkTarget));
            CHECK(chunk + B > kChunkTarget);
        }
}

TEST_CASE("the fixed-width size decides whether a tensor is quantized") {
    const auto gains = [](const char* text, DType dtype, std::uint64_t n) {
        return (*Scheme::make(*resolve_spec(text)))->gains({"w", {n}, dtype}, n);
    };
    CHECK_FALSE(gains("nuqsgd", DType::f32, 1));         // 1 + 4 bytes of 4
    CHECK(gains("nuqsgd", DType::f64, 1));               // of 8
    CHECK(gains("nuqsgd", DType::f32, 2));               // 1 + 4 of 8
    CHECK_FALSE(gains("nuqsgd:bits=8", DType::f16, 4));  // 4 + 4 of 8
    CHECK(gains("nuqsgd:bits=8", DType::f16, 5));
    CHECK_FALSE(gains("nuqsgd:bucket=1", DType::f32, 100));
    CHECK_FALSE(gains("fp16", DType::f16, 1000));
    CHECK(gains("fp16", DType::f32, 1));
    CHECK(gains("none", DType::f32, 1));
    CHECK(gains("nuqsgd", DType::f32, std::uint64_t{1} << 60));
    const auto ternary = *Scheme::make(*resolve_spec("qsgd:bits=2,bucket=100"));
    CHECK(ternary->fixed_size(1001) == 201 + 11 * 4);
}

TEST_CASE("schemes by text are made once; foreign and crooked texts are told apart") {
    SchemeCache cache;
    const std::string text = printed("nuqsgd");
    const auto first = cache.get(text);
    REQUIRE(first);
    CHECK(cache.get(text).operator*() == *first);
    CHECK(cache.get("nuqsgd").error().code == Errc::corrupt);  // not canonical
    CHECK(cache.get("newer:bits=4+fixed").error().code == Errc::incompatible);
    CHECK(cache.get("nuqsgd:bits=1,p=0.5,norm=l2,bucket=512,rounding=stochastic,zero=yes+fixed").error().code ==
          Errc::incompatible);
}
