// lib/container/tensor_codec.cpp: headers come back whatever the names, and cost little.
#include "container/tensor_codec.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "streams.hpp"

using namespace gradz;
using namespace gradz::test;

namespace {

struct Coded {
    Bytes body;
    std::vector<std::uint64_t> sizes;
};

Coded coded(const std::vector<TensorHeader>& headers) {
    Coded out;
    REQUIRE(write_tensor_headers(headers, out.body, out.sizes));
    return out;
}

Result<std::vector<TensorHeader>> decoded(std::span<const std::byte> body, StateBudget budget = {}) {
    budget.input = body.size();
    std::vector<TensorHeader> out;
    std::vector<std::uint64_t> sizes;
    GRADZ_TRY([[maybe_unused]] const auto done, read_tensor_headers(body, budget, out, sizes));
    CHECK(sizes.size() == out.size());
    return out;
}

TensorHeader random_header(std::mt19937& gen) {
    TensorHeader h;
    h.info.name.resize(gen() % 4 == 0 ? 0 : gen() % 12);
    for (auto& c : h.info.name) c = static_cast<char>(gen() % 3 == 0 ? gen() : 'a');  // much in common
    for (auto rank = gen() % 4; rank > 0; --rank) h.info.shape.push_back(gen() >> gen() % 32);
    h.info.dtype = static_cast<DType>(gen() % std::size(kDTypes));
    h.info.step = gen();
    h.info.worker = (std::uint64_t{gen()} << 32) | gen();
    h.key = gen();
    h.spec = gen();
    h.rule = gen();
    return h;
}

}  // namespace

TEST_CASE("random headers come back, and their sizes add up") {
    std::mt19937 gen(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<TensorHeader> headers(1 + gen() % 30);
        for (auto& h : headers) h = random_header(gen);
        const Coded c = coded(headers);
        auto back = decoded(c.body);
        REQUIRE(back);
        CHECK(same(*back, headers));
        CHECK(std::accumulate(c.sizes.begin(), c.sizes.end(), std::uint64_t{1}) == c.body.size());
    }
}

TEST_CASE("no strict prefix, and nothing after the last header") {
    Bytes body = coded({tensor("layer.0.weight", {3, 4}), tensor("layer.0.bias", {4}), tensor("", {})}).body;
    for (std::size_t n = 0; n < body.size(); ++n) CHECK_FALSE(decoded(std::span(body).first(n)));
    body.push_back(std::byte{0});
    CHECK_FALSE(decoded(body));
}

TEST_CASE("limits: rank 255, names of 65535 bytes, known dtypes, 1 to 4096 tensors") {
    const std::string longest(kMaxNameBytes, 'x');
    CHECK(decoded(coded({tensor(longest, std::vector<std::uint64_t>(255, 1)), tensor(longest + "", {2})}).body));
    Bytes body;
    std::vector<std::uint64_t> sizes;
    for (const auto& h : {tensor(longest + "x", {}), tensor("a", std::vector<std::uint64_t>(256, 1))})
        CHECK(write_tensor_headers({&h, 1}, body, sizes).error().code == Errc::unsupported);

    Bytes one = coded({tensor("a", {})}).body;  // count, shared, length, a, dtype, rank, ...
    const auto with = [&](std::size_t at, int value) {
        Bytes changed = one;
        changed[at] = static_cast<std::byte>(value);
        return decoded(changed);
    };
    CHECK(with(4, 19));
    CHECK(with(4, 20).error().what == "dtype 20 does not exist");
    CHECK_FALSE(with(0, 0));
    CHECK_FALSE(with(1, 1));  // shares with no name
    Bytes many;
    ByteWriter(many).varint(4097);
    many.resize(4097 * 20);
    CHECK(decoded(many).error().what == "4097 tensors in a record, want 1..4096");

    Bytes two = bytes_of({1, 0});  // a name of 65536 bytes
    ByteWriter(two).varint(65536);
    two.resize(two.size() + 65536 + 20);
    CHECK(decoded(two).error().code == Errc::corrupt);
}

TEST_CASE("names that a few bytes stand for are bounded by the input") {
    std::vector<TensorHeader> headers;
    for (int i = 0; i < 1000; ++i) headers.push_back(tensor(std::string(60000, 'x') + std::to_string(i), {}));
    const Coded c = coded(headers);
    CHECK(c.body.size() < 90000);
    CHECK(decoded(c.body));
    StateBudget small;
    small.base = 1 << 20;  // beside 64 x 90 000 bytes
    CHECK(decoded(c.body, small).error().code == Errc::unsupported);
}

TEST_CASE("headers of small tensors cost about their name and 16 bytes") {
    std::mt19937 gen(2);
    std::vector<TensorHeader> headers;
    for (int i = 0; i < 100; ++i) {
        std::string name;
        for (int k = 0; k < 20; ++k) name += static_cast<char>('a' + gen() % 26);
        headers.push_back(tensor(name, {1 + gen() % 500, 1 + gen() % 500}, 1, 0, 100, 7));
    }
    for (const auto size : coded(headers).sizes) CHECK(size < 20 + 24);
    // With a step below 128 and one-byte dimensions it is 17, front coding aside.
    CHECK(coded({tensor("weight", {16, 16})}).sizes[0] == 6 + 18);
}
