#include "pipeline/nonfinite.hpp"

#include <cstring>

namespace gradz {
namespace {

// The exponent is all ones.
template <class Word>
std::uint64_t find(std::span<const std::byte> bytes, Word exponent, std::uint64_t from) {
    const std::uint64_t n = bytes.size() / sizeof(Word);
    for (std::uint64_t i = from; i < n; ++i) {
        Word word;
        std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
        if ((word & exponent) == exponent) return i;
    }
    return n;
}

}  // namespace

std::uint64_t find_nonfinite(std::span<const std::byte> bytes, DType dtype, std::uint64_t from) {
    switch (dtype) {
        case DType::f64: return find<std::uint64_t>(bytes, 0x7ff0000000000000u, from);
        case DType::f16: return find<std::uint16_t>(bytes, 0x7c00u, from);
        case DType::bf16: return find<std::uint16_t>(bytes, 0x7f80u, from);
        default: return find<std::uint32_t>(bytes, 0x7f800000u, from);
    }
}

std::uint64_t zero_nonfinite(std::span<const std::byte> bytes, DType dtype, std::vector<std::byte>& cleaned) {
    const std::uint64_t width = size_of(dtype), n = bytes.size() / width;
    std::uint64_t at = find_nonfinite(bytes, dtype, 0), replaced = 0;
    if (at == n) return 0;
    cleaned.assign(bytes.begin(), bytes.end());
    for (; at < n; at = find_nonfinite(bytes, dtype, at + 1), ++replaced)
        std::memset(cleaned.data() + at * width, 0, width);
    return replaced;
}

}  // namespace gradz
