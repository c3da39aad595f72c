// lib/core/tensor.hpp: shapes come from files.
#include "core/tensor.hpp"

#include <doctest/doctest.h>

using namespace gradz;

TEST_CASE("numel: checked, and zero wins over overflow in any order") {
    const std::uint64_t big = std::uint64_t{1} << 40;
    CHECK(*TensorInfo{"a", {}}.numel() == 1);
    CHECK(*TensorInfo{"a", {3, 4}}.numel() == 12);
    CHECK(*TensorInfo{"a", {big, big, 0}}.numel() == 0);
    CHECK(*TensorInfo{"a", {0, big, big}}.numel() == 0);
    CHECK_FALSE(TensorInfo{"a", {big, big}}.numel());
    CHECK_FALSE(TensorInfo{"a", {big, big, 3}}.numel());             // wraps to 0 and stays there
    CHECK_FALSE(TensorInfo{"a", {std::uint64_t{1} << 61}}.numel());  // 2^63 bytes
    CHECK(TensorInfo{"a", {(std::uint64_t{1} << 61) - 1}}.numel());
}

TEST_CASE("chunks are whole buckets") {
    CHECK(chunk_elements(512) == 262144);
    CHECK(chunk_elements(100) == 262100);
    CHECK(chunk_elements(262145) == 262144);
}
