// lib/container/block_order.cpp: which blocks a stream has, and no others.
#include "container/block_order.hpp"

#include <doctest/doctest.h>

#include "streams.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

StreamState state_of(const std::vector<TensorHeader>& tensors, std::vector<std::string> specs = {kNuqsgd, "none"}) {
    StreamState s;
    s.specs = std::move(specs);
    s.tensors = tensors;
    for (const auto& t : tensors) s.elements.push_back(*t.info.numel());
    return s;
}

std::vector<BlockPlace> plan(const StreamState& state) {
    std::vector<BlockPlace> out;
    BlockOrder order;
    for (auto place = *order.expected(state); place; place = *order.expected(state)) {
        out.push_back(*place);
        order.advance(*place, state);
    }
    CHECK(order.complete(state));
    return out;
}

}  // namespace

TEST_CASE("buckets of specs") {
    CHECK(*bucket_of(kNuqsgd, 1000) == 512);
    CHECK(*bucket_of("qsgd:bits=4,norm=l2,bucket=tensor,rounding=stochastic", 777) == 777);
    CHECK(*bucket_of("qsgdinf:bucket=1", 777) == 1);
    CHECK(*bucket_of("qsgd:bucket=tensor", 0) == 1);
    for (const char* spec : {"fp16", "bf16", "fp16+zstd:level=1"}) CHECK(*bucket_of(spec, 5) == 512);
    CHECK(*bucket_of("none", 5) == kChunkTarget);
    CHECK(*bucket_of("qsgd:bucket=18446744073709551615", 5) == ~std::uint64_t{0});
    for (const char* spec :
         {"topk:ratio=0.01", "", "+zstd", "hadamard+qsgd:bucket=512", "NONE", "nuqsgd2:bucket=512"}) {
        auto bucket = bucket_of(spec, 5);
        REQUIRE_FALSE(bucket);
        CHECK(bucket.error().code == Errc::incompatible);
    }
    CHECK(bucket_of("topk:ratio=0.01", 5).error().what == "quantizer 'topk' is unknown to this reader");
    for (const char* keys : {"", ":bits=4", ":bucket=", ":bucket=0", ":bucket=-1", ":bucket=5x",
                             ":bucket=18446744073709551616", ":bucket=5,bucket=5", ":xbucket=5", "+zstd:bucket=5"})
        CHECK(bucket_of(std::string("nuqsgd") + keys, 5).error().code == Errc::corrupt);
}

TEST_CASE("chunks of a large tensor, runs of small ones") {
    const std::string bucket1000 = "qsgd:bits=4,bucket=1000";
    const auto blocks = plan(
        state_of({tensor("empty", {0}), tensor("a", {16383}), tensor("none", {0}), tensor("b", {1}),
                  tensor("other spec", {1}, 1), tensor("large", {262000 * 2 + 1}, 2), tensor("just large", {16384}),
                  tensor("c", {5}), tensor("other dtype", {5}, 0, 0, 0, 0, DType::f16), tensor("last", {0})},
                 {kNuqsgd, "none", bucket1000}));
    const std::vector<std::array<std::uint64_t, 5>> want = {
        {1, 3, 0, 0, 16384},  {4, 1, 0, 0, 1},     {5, 1, 0, 0, 262000}, {5, 1, 1, 262000, 262000},
        {5, 1, 2, 524000, 1}, {6, 1, 0, 0, 16384}, {7, 1, 0, 0, 5},      {8, 1, 0, 0, 5}};
    REQUIRE(blocks.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
        CAPTURE(i);
        const BlockPlace& b = blocks[i];
        CHECK(std::array{b.tensor, b.tensors, b.chunk, b.elements.first, b.elements.count} == want[i]);
    }
}

TEST_CASE("blocks tile the elements of random tensors") {
    std::mt19937 gen(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<TensorHeader> tensors;
        std::uint64_t total = 0, covered = 0;
        for (auto n = gen() % 20; n > 0; --n) {
            const std::uint64_t sizes[] = {0, 1, 16383, 16384, gen() % 20000, gen() % 2000000};
            tensors.push_back(tensor("t" + std::to_string(n), {sizes[gen() % 6]}, gen() % 2));
            total += *tensors.back().info.numel();
        }
        const StreamState state = state_of(tensors);
        std::uint64_t tensor = 0, element = 0;
        for (const auto& b : plan(state)) {
            for (; element == 0 && tensor < b.tensor; ++tensor) CHECK(state.elements[tensor] == 0);
            CHECK(b.tensor == tensor);
            CHECK(b.elements.first == element);
            CHECK(b.elements.count > 0);
            covered += b.elements.count;
            element += b.elements.count;
            if (element >= state.elements[tensor]) tensor += b.tensors, element = 0;
        }
        CHECK(covered == total);
    }
}

TEST_CASE("any other block is refused, and the one that was due is named") {
    const StreamState state = state_of({tensor("a", {3}), tensor("b", {3}), tensor("large", {600000})});
    const auto blocks = plan(state);
    REQUIRE(blocks.size() == 4);
    for (std::size_t due = 0; due <= blocks.size(); ++due)
        for (std::size_t next = 0; next < blocks.size(); ++next) {
            BlockOrder order;
            for (std::size_t i = 0; i < due; ++i) order.advance(*(*order.expected(state)), state);
            CHECK(static_cast<bool>(order.complete(state)) == (due == blocks.size()));
            const BlockPlace& b = blocks[next];
            auto chunk = order.next({0, b.tensor, b.tensors, b.chunk, 0}, state);
            CHECK(static_cast<bool>(chunk) == (due == next));
            if (due == 0 && next == 2)
                CHECK(chunk.error().what == "block of tensor 2, chunk 1 where block of tensor 0, chunk 0 is due");
        }
    for (const std::uint64_t tensors : {0, 1, 3}) {
        BlockOrder order;
        CHECK_FALSE(order.next({0, 0, tensors, 0, 0}, state));
    }
}
