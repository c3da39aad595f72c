// formats/hdf5_tiling.cpp: boxes cover every element once, in C order.
#include "formats/hdf5_tiling.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

using namespace gradz;
using namespace gradz::formats;

namespace {

// The selected elements' indexes in C order, in the order in which H5Dread delivers them.
bool selects_exactly(const Hdf5Tiling& tiling, const std::vector<std::uint64_t>& shape, Chunk box) {
    const std::vector<hsize_t> dims(shape.begin(), shape.end());
    const Hid space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
    if (!tiling.select(space.get(), box)) return false;
    std::vector<hsize_t> low(dims.size()), high(dims.size());
    if (H5Sget_select_bounds(space.get(), low.data(), high.data()) < 0) return false;
    const auto flat = [&](const std::vector<hsize_t>& at) {
        std::uint64_t index = 0;
        for (std::size_t i = 0; i < dims.size(); ++i) index = index * dims[i] + at[i];
        return index;
    };
    return H5Sget_select_npoints(space.get()) == static_cast<hssize_t>(box.count) && flat(low) == box.first &&
           flat(high) == box.first + box.count - 1;
}

// Every box from the first element to the last; how many.
int walk(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& chunk, std::uint64_t element) {
    const Hdf5Session session;
    const Hdf5Tiling tiling(shape, chunk, element);
    const auto all = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
    int boxes = 0;
    for (std::uint64_t at = 0; at < all; ++boxes) {
        const auto box = tiling.box_at(at);
        REQUIRE(box.first == at);
        REQUIRE(box.count > 0);
        REQUIRE(box.count * element <= kLargestBox);
        const auto same = tiling.box_at(at + box.count - 1);
        REQUIRE(same.first == box.first);
        REQUIRE(same.count == box.count);
        REQUIRE(selects_exactly(tiling, shape, box));
        at += box.count;
    }
    return boxes;
}

}  // namespace

TEST_CASE("hdf5 tiling: a scalar and small shapes are one box") {
    const Hdf5Tiling scalar({}, {}, 4);
    CHECK(scalar.box_at(0).count == 1);
    CHECK(walk({1}, {}, 4) == 1);
    CHECK(walk({50, 10, 64}, {10, 10, 64}, 4) == 1);
}

TEST_CASE("hdf5 tiling: whole rows of chunks where they fit, else no more than 16 MiB") {
    const Hdf5Tiling rows({1000, 1024, 1024}, {3, 100, 100}, 4);  // 4 MiB a row
    CHECK(rows.box_at(0).count == 3 * 1024 * 1024);
    CHECK(rows.shared_bytes() == 0);
    const Hdf5Tiling tall({1000, 1024, 1024}, {8, 1024, 1024}, 4);  // 32 MiB a row of chunks
    CHECK(tall.box_at(0).count == 4 * 1024 * 1024);
    CHECK(tall.shared_bytes() == 8 * 1024 * 1024 * 4);
    const Hdf5Tiling wide({4, 64, 1024, 1024}, {1, 8, 256, 256}, 4);  // 256 MiB a row
    CHECK(wide.box_at(0).count == 4 * 1024 * 1024);
    CHECK(wide.shared_chunks() == 8 * 4 * 4);
    CHECK(walk({4, 64, 1024, 1024}, {1, 8, 256, 256}, 4) == 64);
    CHECK(walk({3, 5000000}, {}, 8) == 9);
}

TEST_CASE("hdf5 tiling: any shape and chunk") {
    std::mt19937 gen(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint64_t> shape(1 + gen() % 4), chunk;
        std::uint64_t all = 1;
        for (auto& d : shape) {
            d = 1 + gen() % (gen() % 3 == 0 ? 3000 : 30);
            while (all * d > 100'000'000) d = (d + 1) / 2;
            all *= d;
        }
        for (const auto d : shape) chunk.push_back(1 + gen() % (2 * d));
        walk(shape, gen() % 2 ? chunk : std::vector<std::uint64_t>{}, 1u << gen() % 5);
    }
}
