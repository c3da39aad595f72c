// lib/pipeline/layout.cpp: how writers cut is how readers expect it.
#include "pipeline/layout.hpp"

#include <doctest/doctest.h>

#include <random>

#include "container/block_order.hpp"

using namespace gradz;

namespace {

const char* const kSpecs[] = {"nuqsgd",
                              "none",
                              "qsgd:bits=4,bucket=1000",
                              "nuqsgd:bits=4,bucket=tensor",
                              "nuqsgd:bits=4,bucket=300000",
                              "qsgdinf:bits=2,bucket=1",
                              "fp16"};

// Headers, and the same as both sides see them.
struct Dump {
    std::vector<TensorInfo> infos;
    std::vector<std::size_t> specs;
    std::vector<Planned> planned;
    std::vector<std::string> texts;

    explicit Dump(std::mt19937_64& gen) {
        const std::size_t count = 1 + gen() % (gen() % 8 ? 40 : 9000);
        std::vector<std::shared_ptr<const Scheme>> schemes;
        for (const char* text : kSpecs) schemes.push_back(*Scheme::make(*resolve_spec(text)));
        for (const auto& s : schemes) texts.push_back(s->text);
        std::size_t spec = 0;
        const std::uint64_t sizes[] = {0,     1,      511,    16383,  16384,  16385, 3,
                                       20000, 262143, 262144, 262145, 700000, 5000,  100};
        for (std::size_t t = 0; t < count; ++t) {
            if (gen() % 6 == 0) spec = gen() % std::size(kSpecs);
            const auto dtype = gen() % 5 ? DType::f32 : DType::f16;
            infos.push_back({"t", {sizes[gen() % (count > 100 ? 7 : std::size(sizes))]}, dtype});
            specs.push_back(spec);
        }
        for (std::size_t t = 0; t < count; ++t)
            planned.push_back({&infos[t], *infos[t].numel(), 0, 0, schemes[specs[t]]});
    }
};

}  // namespace

TEST_CASE("batches, runs and chunks are those that a reader expects") {
    std::mt19937_64 gen(1);
    for (int round = 0; round < 200; ++round) {
        CAPTURE(round);
        const Dump dump(gen);
        Layout layout(dump.planned);
        StreamState state;
        state.specs = dump.texts;
        BlockOrder order;
        BlockPlan plan;
        CHECK_FALSE(layout.next_block(plan));  // headers come first
        for (auto batch = layout.next_batch(); !batch.empty(); batch = layout.next_batch()) {
            const std::size_t begin = state.tensors.size();
            REQUIRE(batch.data() == dump.planned.data() + begin);
            for (std::size_t t = begin; t < begin + batch.size(); ++t) {
                state.tensors.push_back({dump.infos[t], 0, static_cast<std::uint32_t>(dump.specs[t]), 0});
                state.elements.push_back(dump.planned[t].elements);
            }
            while (layout.next_block(plan)) {
                auto place = order.expected(state);
                REQUIRE(place);
                REQUIRE(*place);
                CHECK((*place)->tensor == plan.parts[0].tensor);
                CHECK((*place)->tensors == plan.tensors);
                CHECK((*place)->chunk == plan.chunk);
                std::uint64_t elements = 0;
                for (const auto& part : plan.parts) {
                    CHECK(part.count > 0);
                    CHECK((plan.tensors == 1 || part.count == state.elements[part.tensor]));
                    elements += part.count;
                }
                CHECK(elements == (*place)->elements.count);
                CHECK((plan.tensors > 1 || plan.parts[0].first == (*place)->elements.first));
                order.advance(**place, state);
            }
            CHECK(order.complete(state));
        }
        CHECK(state.tensors.size() == dump.planned.size());
    }
}

TEST_CASE("a batch ends at 4096 tensors or 2^18 elements and not before") {
    std::mt19937_64 gen(2);
    for (int round = 0; round < 100; ++round) {
        const Dump dump(gen);
        Layout layout(dump.planned);
        std::size_t at = 0;
        for (auto batch = layout.next_batch(); !batch.empty(); batch = layout.next_batch()) {
            std::uint64_t elements = 0;
            for (const auto& p : batch) elements += p.elements;
            at += batch.size();
            CHECK(batch.size() <= 4096);
            CHECK(elements - batch.back().elements < 262144);
            CHECK((batch.size() == 4096 || elements >= 262144 || at == dump.planned.size()));
        }
        CHECK(at == dump.planned.size());
    }
}

TEST_CASE("pieces are the buckets of a part, cut at its ends") {
    std::mt19937_64 gen(3);
    for (int round = 0; round < 1000; ++round) {
        const std::uint64_t bucket = 1 + gen() % 40, first = gen() % 200, count = gen() % 200;
        std::vector<std::uint64_t> of;  // bucket of every element
        std::uint64_t at = first;
        for_each_piece({0, first, count}, bucket, [&](std::uint64_t begin, std::uint64_t n) {
            CHECK(begin == at);
            CHECK(n > 0);
            CHECK(begin / bucket == (begin + n - 1) / bucket);
            at += n;
            of.push_back(begin / bucket);
        });
        CHECK(at == first + count);
        for (std::size_t i = 1; i < of.size(); ++i) CHECK(of[i] == of[i - 1] + 1);
    }
}
