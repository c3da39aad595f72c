// Tensors of a dump read whole, and held to the statistics that tests/data states of them.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/source.hpp"
#include "formats/tensor_reader.hpp"

namespace gradz::test {

inline nlohmann::json read_json(const std::string& path) {
    std::ifstream in(path);
    return nlohmann::json::parse(in);
}

// All elements, in pieces of `step` elements.
inline Result<std::vector<std::byte>> read_elements(TensorSource& dump, std::size_t index, std::uint64_t step) {
    const auto& info = dump.tensors()[index];
    GRADZ_TRY(const auto source, dump.open(index));
    const auto numel = *info.numel();
    std::vector<std::byte> all, buffer;
    for (std::uint64_t first = 0; first < numel; first += step) {
        const Chunk chunk{first, std::min(step, numel - first)};
        GRADZ_TRY(const auto bytes, source->read(chunk, buffer));
        all.insert(all.end(), bytes.begin(), bytes.end());
        GRADZ_TRY([[maybe_unused]] const auto released, source->release(chunk));
    }
    return all;
}

inline double half_to_double(std::uint16_t h) {
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    double v = exponent == 31
                   ? (mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
               : exponent == 0 ? std::ldexp(mantissa, -24)
                               : std::ldexp(1024 + mantissa, exponent - 25);
    return h >> 15 ? -v : v;
}

template <class T>
T load_as(const std::byte* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

// Precondition: a real type of at least 16 bits or an integer.
inline double element_as_double(DType dtype, const std::byte* p) {
    switch (dtype) {
        case DType::f32: return load_as<float>(p);
        case DType::f64: return load_as<double>(p);
        case DType::f16: return half_to_double(load_as<std::uint16_t>(p));
        case DType::bf16: {
            const std::uint32_t bits = std::uint32_t{load_as<std::uint16_t>(p)} << 16;
            return load_as<float>(reinterpret_cast<const std::byte*>(&bits));
        }
        case DType::i8: return load_as<std::int8_t>(p);
        case DType::u8: return load_as<std::uint8_t>(p);
        case DType::i16: return load_as<std::int16_t>(p);
        case DType::u16: return load_as<std::uint16_t>(p);
        case DType::i32: return load_as<std::int32_t>(p);
        case DType::u32: return load_as<std::uint32_t>(p);
        case DType::i64: return static_cast<double>(load_as<std::int64_t>(p));
        case DType::u64: return static_cast<double>(load_as<std::uint64_t>(p));
        default: return std::numeric_limits<double>::quiet_NaN();
    }
}

struct Facts {
    std::uint64_t count = 0, zeros = 0, nan = 0, inf = 0;
    double l2 = 0, linf = 0, mean = 0, min = std::numeric_limits<double>::infinity(), max = -min;
};

inline Facts facts_of(DType dtype, std::span<const std::byte> bytes) {
    Facts f;
    double squares = 0, sum = 0;
    for (std::size_t i = 0; i < bytes.size(); i += size_of(dtype)) {
        const double v = element_as_double(dtype, bytes.data() + i);
        ++f.count;
        f.nan += std::isnan(v), f.inf += std::isinf(v), f.zeros += v == 0;
        if (!std::isfinite(v)) continue;
        squares += v * v, sum += v;
        f.linf = std::max(f.linf, std::fabs(v)), f.min = std::min(f.min, v), f.max = std::max(f.max, v);
    }
    f.l2 = std::sqrt(squares), f.mean = sum / static_cast<double>(f.count - f.nan - f.inf);
    return f;
}

// want: one tensor of expected.json or manifest.json.
inline void check_facts(const nlohmann::json& want, const TensorInfo& info, std::span<const std::byte> bytes) {
    INFO("tensor ", info.name);
    CHECK(want["shape"].get<std::vector<std::uint64_t>>() == info.shape);
    CHECK(want["count"].get<std::uint64_t>() * size_of(info.dtype) == bytes.size());
    if (want.contains("lossless")) return;  // not real numbers
    const auto f = facts_of(info.dtype, bytes);
    CHECK(f.zeros == want["zeros"].get<std::uint64_t>());
    CHECK(f.nan == want["nan"].get<std::uint64_t>());
    CHECK(f.inf == want["inf"].get<std::uint64_t>());
    if (!want.contains("l2")) return;  // nothing finite
    CHECK(f.l2 == doctest::Approx(want["l2"].get<double>()).epsilon(1e-12));
    CHECK(f.linf == want["linf"].get<double>());
    CHECK(f.min == want["min"].get<double>());
    CHECK(f.max == want["max"].get<double>());
    CHECK(std::fabs(f.mean - want["mean"].get<double>()) <= 1e-12 * f.linf);
}

}  // namespace gradz::test
