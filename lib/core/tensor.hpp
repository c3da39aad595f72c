// A tensor as the codec sees it: a description, and its elements chunk by chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace gradz {

// Ids are on disk: never reuse or renumber one. The first four can be quantized; all
// others are carried bit for bit.
enum class DType : std::uint8_t {
    f32 = 0,
    f64 = 1,
    f16 = 2,
    bf16 = 3,
    i8 = 4,
    u8 = 5,
    i16 = 6,
    u16 = 7,
    i32 = 8,
    u32 = 9,
    i64 = 10,
    u64 = 11,
    boolean = 12,
    c64 = 13,
    c128 = 14,
    f8_e4m3 = 15,
    f8_e5m2 = 16,
    f8_e8m0 = 17,
    f8_e4m3fnuz = 18,
    f8_e5m2fnuz = 19,
};

struct DTypeRow {
    std::string_view name;  // as NumPy and ml_dtypes call it: "float32", "bfloat16"
    std::uint8_t bytes;     // of one element
    std::uint8_t word;      // what a change of byte order swaps: c64 is two words of 4
};

constexpr DTypeRow kDTypes[] = {
    {"float32", 4, 4},     {"float64", 8, 8},        {"float16", 2, 2},         {"bfloat16", 2, 2},
    {"int8", 1, 1},        {"uint8", 1, 1},          {"int16", 2, 2},           {"uint16", 2, 2},
    {"int32", 4, 4},       {"uint32", 4, 4},         {"int64", 8, 8},           {"uint64", 8, 8},
    {"bool", 1, 1},        {"complex64", 8, 4},      {"complex128", 16, 8},     {"float8_e4m3fn", 1, 1},
    {"float8_e5m2", 1, 1}, {"float8_e8m0fnu", 1, 1}, {"float8_e4m3fnuz", 1, 1}, {"float8_e5m2fnuz", 1, 1},
};

constexpr bool is_dtype(std::uint8_t id) { return id < std::size(kDTypes); }
constexpr const DTypeRow& row_of(DType t) { return kDTypes[static_cast<std::size_t>(t)]; }
constexpr std::uint64_t size_of(DType t) { return row_of(t).bytes; }
constexpr bool quantizable(DType t) { return t <= DType::bf16; }

struct TensorInfo {
    std::string name;                  // as in the dump, unchanged ("module.fc.weight"); any bytes
    std::vector<std::uint64_t> shape;  // {} is a 0-d tensor with one element
    DType dtype = DType::f32;
    std::uint64_t step = 0, worker = 0;

    // Shapes come from files: Errc::corrupt if the bytes do not fit 63 bits, whatever the
    // order of the dimensions ({2^40, 2^40, 0} has no elements and is fine).
    Result<std::uint64_t> numel() const {
        std::uint64_t n = 1;
        bool overflow = false;
        for (const auto d : shape) {
            if (d == 0) return std::uint64_t{0};
            overflow |= __builtin_mul_overflow(n, d, &n);
        }
        if (overflow || n > (std::uint64_t{1} << 63) / size_of(dtype) - 1)
            return Error{Errc::corrupt, "shape has more than 2^63 bytes", "tensor " + name};
        return n;
    }
};

struct Chunk {
    std::uint64_t first, count;  // elements, in C order
};

constexpr std::uint64_t kChunkTarget = std::uint64_t{1} << 18;

// A whole number of buckets near 2^18 elements, or 2^18 where a bucket is larger.
constexpr std::uint64_t chunk_elements(std::uint64_t bucket) {
    return bucket > kChunkTarget ? kChunkTarget : kChunkTarget / bucket * bucket;
}

}  // namespace gradz
