// lib/stats/moments.cpp: against real data's known statistics, brute force, and sorting.
#include "stats/moments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "support/gen.hpp"

using namespace gradz;

namespace {

const std::string kData = GRADZ_TEST_DATA;

std::string slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& v) {
    return std::as_bytes(std::span(v));
}

template <class T>
MomentFigures figures_of(DType dtype, const std::vector<T>& v) {
    Moments m;
    m.add_chunk(dtype, bytes_of(v));
    return m.figures();
}

MomentFigures by_chunks(DType dtype, std::span<const std::byte> bytes, std::size_t chunk) {
    Moments total;
    const std::size_t step = chunk * size_of(dtype);
    for (std::size_t i = 0; i < bytes.size(); i += step) {
        Moments part;
        part.add_chunk(dtype, bytes.subspan(i, std::min(step, bytes.size() - i)));
        total.add(part);
    }
    return total.figures();
}

// In the manifest, over finite values in float64.
void check_known(const MomentFigures& f, const nlohmann::json& want) {
    CHECK(f.count == want["count"]);
    CHECK(f.zeros == want["zeros"]);
    CHECK(f.nan == want["nan"]);
    CHECK(f.inf == want["inf"]);
    if (!want.contains("l2")) {
        CHECK(!f.l2);
        return;
    }
    CHECK(*f.l2 == doctest::Approx(want["l2"].get<double>()).epsilon(1e-12));
    CHECK(*f.linf == want["linf"].get<double>());
    CHECK(*f.min == want["min"].get<double>());
    CHECK(*f.max == want["max"].get<double>());
    const double scale = *f.l1 / static_cast<double>(f.count);
    CHECK(std::abs(*f.mean - want["mean"].get<double>()) <= 1e-13 * scale);
}

// Plain .npy: little-endian float32, float64 or float16, data from the end of the header.
int check_npy(const std::string& folder, const std::string& known) {
    int checked = 0;
    const auto manifest = nlohmann::json::parse(slurp(kData + "/" + folder + "/" + known));
    for (const auto& [file, entry] : manifest.items()) {
        if (!file.ends_with(".npy") || !entry.contains("tensors") || file == "npy_trailing_bytes.npy") continue;
        const std::string npy = slurp(kData + "/" + folder + "/" + file);
        const bool wide = npy[6] >= 2;
        std::size_t length = 0;
        for (std::size_t i = wide ? 4 : 2; i-- > 0;) length = length << 8 | static_cast<unsigned char>(npy[8 + i]);
        const std::size_t start = (wide ? 12 : 10) + length;
        const std::string header = npy.substr(wide ? 12 : 10, length);
        const auto dtype = header.find("'<f4'") != std::string::npos   ? DType::f32
                           : header.find("'<f8'") != std::string::npos ? DType::f64
                           : header.find("'<f2'") != std::string::npos ? DType::f16
                                                                       : DType::boolean;
        if (dtype == DType::boolean) continue;
        CAPTURE(file);
        const auto bytes = std::as_bytes(std::span(npy)).subspan(start);
        for (std::size_t chunk : {std::size_t{1} << 18, std::size_t{1000}, std::size_t{4097}})
            check_known(by_chunks(dtype, bytes, chunk), *entry["tensors"].begin());
        ++checked;
    }
    return checked;
}

}  // namespace

TEST_CASE("real and awkward dumps have the statistics of their manifests") {
    CHECK(check_npy("gradients", "manifest.json") >= 5);
    CHECK(check_npy("edge", "expected.json") >= 15);
}

TEST_CASE("moments are those of long double, however the tensor is cut") {
    auto v = test::laplace(50'000, 1e-3f, 7);
    for (auto& x : v) x += 1.0f;  // a mean that would cancel in plain power sums
    long double mean = 0, m2 = 0, m3 = 0, m4 = 0;
    for (const float x : v) mean += x;
    const auto n = static_cast<long double>(v.size());
    mean /= n;
    for (const float x : v) {
        const long double d = x - mean;
        m2 += d * d / n, m3 += d * d * d / n, m4 += d * d * d * d / n;
    }
    for (std::size_t chunk : {997u, 1024u, 3000u, 1u << 18}) {
        const MomentFigures f = by_chunks(DType::f32, bytes_of(v), chunk);
        CHECK(*f.mean == doctest::Approx(static_cast<double>(mean)).epsilon(1e-14));
        CHECK(*f.std == doctest::Approx(static_cast<double>(std::sqrt(m2))).epsilon(1e-10));
        CHECK(std::abs(*f.skewness - static_cast<double>(m3 / (m2 * std::sqrt(m2)))) <= 1e-8);
        CHECK(std::abs(*f.kurtosis - static_cast<double>(m4 / (m2 * m2))) <= 1e-8);
    }
    const std::vector<float> coin{-1, 1, -1, 1};
    CHECK(*figures_of(DType::f32, coin).kurtosis == 1);
    CHECK(*figures_of(DType::f32, coin).skewness == 0);
    CHECK(*figures_of(DType::f32, coin).std == 1);
}

TEST_CASE("quantiles of the magnitude are within 2^-8 of the sorted ones") {
    for (float unit : {1.0f, 1e-30f, 1e30f})
        for (std::size_t n : {1u, 2u, 99u, 100u, 101u, 20'000u}) {
            CAPTURE(n);
            auto v = test::laplace(n, unit, 3);
            for (std::size_t i = 0; i < n; i += 10) v[i] = 0;
            const MomentFigures f = figures_of(DType::f32, v);
            std::vector<float> sorted;
            for (const float x : v) sorted.push_back(std::abs(x));
            std::sort(sorted.begin(), sorted.end());
            const auto check = [&](double share, double got) {
                const auto rank = std::max(1.0, std::ceil(share * static_cast<double>(n)));
                const double want = sorted[static_cast<std::size_t>(rank) - 1];
                CHECK(std::abs(got - want) <= 0x1p-8 * want);
            };
            check(0.01, *f.p1), check(0.1, *f.p10), check(0.5, *f.p50), check(0.9, *f.p90), check(0.99, *f.p99);
        }
}

TEST_CASE("ranges: float64 beyond float32, subnormals, nothing finite, nothing at all") {
    const MomentFigures wide = figures_of(DType::f64, std::vector<double>{1e300, -1e-300, 0, 1});
    CHECK(*wide.l2 == 1e300);
    CHECK(*wide.smallest == 1e-300);
    CHECK(!wide.dynamic_range);  // 1e600
    CHECK(*wide.p99 <= 1e300);
    CHECK(*figures_of(DType::f64, std::vector<double>{3e-200, 4e-200}).l2 == doctest::Approx(5e-200).epsilon(1e-15));
    CHECK(*figures_of(DType::f64, std::vector<double>{3e200, 4e200}).l2 == doctest::Approx(5e200).epsilon(1e-15));
    const MomentFigures tiny = figures_of(DType::f32, std::vector<float>{1e-45f, -3e-45f});
    CHECK(*tiny.dynamic_range == 2);
    CHECK(*tiny.linf == static_cast<double>(3e-45f));
    CHECK(*tiny.p50 <= *tiny.linf);
    const MomentFigures none = figures_of(DType::f32, std::vector<float>{NAN, INFINITY, -INFINITY});
    CHECK(none.count == 3);
    CHECK(none.nan == 1);
    CHECK(none.inf == 2);
    CHECK(!none.l2);
    CHECK(!none.min);
    CHECK(!none.p50);
    const MomentFigures empty = figures_of(DType::f32, std::vector<float>{});
    CHECK(empty.count == 0);
    CHECK(!empty.mean);
    const MomentFigures zeros = figures_of(DType::f32, std::vector<float>{0, -0.0f});
    CHECK(zeros.zeros == 2);
    CHECK(*zeros.l2 == 0);
    CHECK(!zeros.smallest);
    CHECK(!zeros.dynamic_range);
    CHECK(!zeros.kurtosis);
    CHECK(*zeros.p99 == 0);
}

TEST_CASE("chunks without a finite value do not disturb the others") {
    Moments a, none, b;
    const std::vector<float> x{-2, 4}, nan{NAN};
    a.add_chunk(DType::f32, bytes_of(x));
    none.add_chunk(DType::f32, bytes_of(nan));
    b.add(none);
    b.add(a);
    b.add(none);
    const MomentFigures f = b.figures();
    CHECK(f.count == 4);
    CHECK(*f.min == -2);
    CHECK(*f.max == 4);
    CHECK(*f.mean == 1);
    CHECK(*f.std == 3);
    CHECK(*f.smallest == 2);
}

TEST_CASE("other dtypes: count and zeros alone") {
    CHECK(figures_of(DType::i32, std::vector<std::int32_t>{0, 1, -1, 0}).zeros == 2);
    CHECK(figures_of(DType::u64, std::vector<std::uint64_t>{0, 1u << 31}).zeros == 1);
    CHECK(figures_of(DType::boolean, std::vector<std::uint8_t>{0, 1, 1}).count == 3);
    CHECK(figures_of(DType::c64, std::vector<float>{0, 0, 0, 1, 1, 0, -0.0f, 0}).zeros == 2);
    CHECK(figures_of(DType::c64, std::vector<float>{0, 0, 0, 1}).count == 2);
    CHECK(figures_of(DType::f8_e4m3, std::vector<std::uint8_t>{0, 0x80, 1}).zeros == 2);
    CHECK(figures_of(DType::f8_e4m3fnuz, std::vector<std::uint8_t>{0, 0x80, 1}).zeros == 1);
    CHECK(figures_of(DType::f8_e8m0, std::vector<std::uint8_t>{0, 0x80, 1}).zeros == 0);
    CHECK(!figures_of(DType::i32, std::vector<std::int32_t>{5}).l2);
}
