// The codec once more, straight from the definitions of docs/FORMAT.md and in no hurry:
// one element at a time, one tensor at a time, nothing shared with lib/ but the dtypes.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "core/tensor.hpp"
#include "support/tensor_facts.hpp"

namespace gradz::test {

using Bytes = std::vector<std::byte>;

// Philox4x32-10 as in the paper: which word, which half of it is the caller's business.
inline std::array<std::uint32_t, 4> plain_philox(std::array<std::uint32_t, 4> c, std::uint64_t key) {
    auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0], p1 = std::uint64_t{0xCD9E8D57u} * c[2];
        c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
             static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    }
    return c;
}

// The 32 random bits of element i.
inline std::uint32_t plain_bits(std::uint64_t i, std::uint64_t key) {
    const std::uint64_t block = 16 * (i / 128) + i % 16, slot = i % 128 / 16;
    const auto half = [&](std::uint32_t domain) {
        const auto words =
            plain_philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), domain, 0}, key);
        return words[slot / 2] >> (slot % 2 * 16) & 0xffffu;
    };
    return half(0) << 16 | half(1);
}

// The quantizer of a canonical spec.
struct PlainScheme {
    std::string name;
    std::map<std::string, std::string> keys;
    std::vector<float> levels;  // ascending: magnitudes with 0, or the signed table
    bool has_zero = true, half = false, uniform = false;

    explicit PlainScheme(const std::string& spec) {
        std::istringstream stage(spec.substr(0, spec.find('+')));
        std::getline(stage, name, ':');
        for (std::string pair; std::getline(stage, pair, ',');)
            keys[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
        uniform = name != "nuqsgd";
        has_zero = !keys.count("zero") || keys["zero"] == "yes";
        if (has_scales()) make_levels();
    }

    bool lossless() const { return name == "none"; }
    bool has_scales() const { return name == "nuqsgd" || name == "qsgd" || name == "qsgdinf"; }
    bool linf() const { return keys.at("norm") == "linf"; }
    bool nearest() const { return keys.at("rounding") == "nearest"; }
    std::uint64_t bucket(std::uint64_t elements) const {
        if (lossless()) return kChunkTarget;
        if (!has_scales()) return 512;
        return keys.at("bucket") == "tensor" ? elements : std::stoull(keys.at("bucket"));
    }
    std::uint32_t alphabet() const {
        if (!has_scales()) return 65536;
        return static_cast<std::uint32_t>(has_zero ? 2 * levels.size() - 1 : levels.size());
    }

private:
    void make_levels() {
        int m = 0;
        if (keys.count("s")) m = std::stoi(keys["s"]) + (uniform ? 0 : 1);
        else m = (1 << (std::stoi(keys["bits"]) - 1)) - (has_zero ? 1 : 0);
        std::vector<float> up;  // positive ones
        for (int k = 1; uniform && k <= m; ++k) up.push_back(static_cast<float>(k) / static_cast<float>(m));
        double power = 1;
        for (int j = 0; !uniform && j < m; ++j, power *= std::stod(keys["p"]))
            up.insert(up.begin(), static_cast<float>(power));
        half = !uniform && has_zero && std::stod(keys["p"]) == 0.5;
        if (has_zero) levels.push_back(0);
        else
            for (auto l = up.rbegin(); l != up.rend(); ++l) levels.push_back(-*l);
        levels.insert(levels.end(), up.begin(), up.end());
    }
};

// Sum of squares: spans of 65 536, 32 lanes each, folded in halves, spans in order.
inline double plain_square_sum(std::span<const float> x) {
    double sum = 0;
    for (std::size_t span = 0; span < x.size(); span += 65536) {
        double lane[32] = {};
        for (std::size_t i = span; i < std::min(span + 65536, x.size()); ++i)
            lane[(i - span) % 32] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        for (int width = 16; width > 0; width /= 2)
            for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
        sum += lane[0];
    }
    return sum;
}

// r lies at or above levels[k], and between it and the next one at threshold / 2^32.
struct PlainPlace {
    std::size_t k;
    std::uint32_t threshold;
};

inline PlainPlace plain_place(const PlainScheme& scheme, float r) {
    const auto& levels = scheme.levels;
    const auto threshold = [](double f) { return static_cast<std::uint32_t>(std::floor(f * 4294967296.0)); };
    const std::size_t top = levels.size() - 1;
    if (scheme.uniform) {
        const float q = r * static_cast<float>(top);
        const float k = std::floor(q);
        return {static_cast<std::size_t>(k), threshold(static_cast<double>(q) - static_cast<double>(k))};
    }
    std::size_t k = 0;
    while (k < top && levels[k + 1] <= r) ++k;
    if (k == top) return {k, 0};
    const double low = static_cast<double>(levels[k]), gap = static_cast<double>(levels[k + 1]) - low;
    if (scheme.half) return {k, threshold((static_cast<double>(r) - low) / gap)};  // powers of two: exact
    const float weight = static_cast<float>(1 / gap);
    return {k, threshold(static_cast<double>(std::min((r - levels[k]) * weight, 0x1.fffffep-1f)))};
}

// What the element comes back as, in float32.
inline float plain_round(const PlainScheme& scheme, float x, float S, std::uint64_t i, std::uint64_t key) {
    const float top = scheme.levels.back(), magnitude = std::min(std::abs(x) / S, top);
    const float r = scheme.has_zero ? magnitude : std::copysign(magnitude, x);
    const PlainPlace place = plain_place(scheme, r);
    const std::uint32_t u = scheme.nearest() ? 0x80000000u - place.k % 2 : plain_bits(i, key);
    const std::size_t k = place.k + (u < place.threshold ? 1 : 0);
    const float level = scheme.levels[k];
    if (!scheme.has_zero) return S * level;
    return k == 0 ? 0.0f : S * (std::signbit(x) ? -level : level);
}

// To binary16 by its definition: an integer times the unit of its binade, ties to even.
inline std::uint16_t plain_half(double v) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(v) ? 0x8000 : 0);
    const double a = std::abs(v);
    if (std::isnan(v)) return static_cast<std::uint16_t>(sign | 0x7e00);
    if (a >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
    const int e = a < 0x1p-14 ? -14 : std::ilogb(a);
    const auto n = static_cast<int>(std::nearbyint(std::ldexp(a, 10 - e)));  // below 2048, or at it
    return static_cast<std::uint16_t>(sign | (n < 1024 ? n : ((e + 15) << 10) + n - 1024));
}
inline std::uint16_t plain_bfloat(float v) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    if (std::isnan(v)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    const std::uint32_t low = bits & 0xffff, up = low > 0x8000 || (low == 0x8000 && (bits >> 16 & 1));
    return static_cast<std::uint16_t>((bits >> 16) + up);
}

inline void plain_store(DType dtype, float v, std::byte* to) {
    const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
    if (dtype == DType::f32) put(v);
    if (dtype == DType::f64) put(static_cast<double>(v));
    if (dtype == DType::f16) put(plain_half(static_cast<double>(v)));
    if (dtype == DType::bf16) put(plain_bfloat(v));
}
inline bool plain_finite(DType dtype, float v) {
    if (dtype == DType::f16) return std::abs(v) < 65520;
    if (dtype == DType::bf16) return std::abs(v) < 0x1.ffp127f;
    return std::isfinite(v);
}

struct PlainBucket {
    std::vector<float> x;
    bool vanished = false;
    std::uint64_t zeroed = 0;  // elements that are 0 in float32 alone
};

inline PlainBucket plain_bucket(DType dtype, std::span<const std::byte> bytes) {
    PlainBucket out;
    for (std::size_t at = 0; at < bytes.size(); at += size_of(dtype)) {
        const double v = element_as_double(dtype, bytes.data() + at);
        out.x.push_back(static_cast<float>(v));
        out.zeroed += v != 0 && out.x.back() == 0;
    }
    out.vanished = out.zeroed > 0;
    return out;
}

// The scale, or nothing where the bucket is to be stored bit for bit.
inline std::optional<float> plain_scale(const PlainScheme& scheme, DType dtype, const PlainBucket& bucket) {
    float top = 0;
    for (const float v : bucket.x) {
        if (!std::isfinite(v)) return std::nullopt;
        top = std::max(top, std::abs(v));
    }
    if (!scheme.has_scales()) {
        const bool fits = scheme.name == "fp16" ? top < 65520 : top < 0x1.ffp127f;
        return fits && plain_finite(dtype, top) ? std::optional(1.0f) : std::nullopt;
    }
    if (top == 0) return bucket.vanished ? std::nullopt : std::optional(0.0f);
    const float S = scheme.linf() ? top : static_cast<float>(std::sqrt(plain_square_sum(bucket.x)));
    if (!std::isnormal(S) || !plain_finite(dtype, S * scheme.levels.back())) return std::nullopt;
    return S;
}

struct PlainTensor {
    Bytes bytes;                             // what decoding must give
    std::vector<bool> exact;                 // of each bucket: escaped
    std::uint64_t escaped = 0, flushed = 0;  // elements
    bool raw = false;                        // the block did not gain
};

// A tensor through quantizer and back, every bucket coded that can be.
inline PlainTensor plain_tensor(const PlainScheme& scheme, DType dtype, std::span<const std::byte> bytes,
                                std::uint64_t key) {
    PlainTensor out{Bytes(bytes.begin(), bytes.end()), {}};
    if (scheme.lossless() || bytes.empty()) return out;
    const std::uint64_t width = size_of(dtype), n = bytes.size() / width, B = scheme.bucket(n);
    for (std::uint64_t first = 0; first < n; first += B) {
        const std::uint64_t count = std::min(B, n - first);
        const PlainBucket bucket = plain_bucket(dtype, bytes.subspan(first * width, count * width));
        const auto S = plain_scale(scheme, dtype, bucket);
        out.exact.push_back(!S);
        if (!S) {
            out.escaped += count;
            continue;
        }
        out.flushed += bucket.zeroed;
        for (std::uint64_t i = 0; i < count; ++i) {
            const float x = bucket.x[i];
            float y = x;  // a cast
            if (scheme.name == "bf16") y = std::bit_cast<float>(std::uint32_t{plain_bfloat(x)} << 16);
            if (scheme.name == "fp16") y = static_cast<float>(half_to_double(plain_half(static_cast<double>(x))));
            if (scheme.has_scales()) y = *S == 0 ? 0.0f : plain_round(scheme, x, *S, first + i, key);
            plain_store(dtype, y, out.bytes.data() + (first + i) * width);
        }
    }
    return out;
}

}  // namespace gradz::test
