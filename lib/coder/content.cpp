#include "coder/content.hpp"

#include <cassert>
#include <cstring>
#include <string>

#include "coder/check.hpp"
#include "coder/radix.hpp"

namespace gradz {
namespace {

bool is_wide(const BlockShape& shape) { return shape.symbol_bytes() == 2; }
bool is_copy(const BlockShape& shape) { return !is_wide(shape) && digits_per_byte(shape.alphabet) == 1; }

// All low bytes, then all high ones.
void part(std::span<const std::byte> symbols, std::byte* planes) {
    const std::size_t n = symbols.size() / 2;
    std::byte *const low = planes, *const high = planes + n;
    const std::byte* const in = symbols.data();
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t symbol;
        std::memcpy(&symbol, in + 2 * i, sizeof symbol);
        low[i] = static_cast<std::byte>(symbol);
        high[i] = static_cast<std::byte>(symbol >> 8);
    }
}

void join(const std::byte* planes, std::span<std::byte> symbols) {
    const std::size_t n = symbols.size() / 2;
    const std::byte *const low = planes, *const high = planes + n;
    std::byte* const out = symbols.data();
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const auto symbol =
            static_cast<std::uint16_t>(static_cast<unsigned>(low[i]) | static_cast<unsigned>(high[i]) << 8);
        std::memcpy(out + 2 * i, &symbol, sizeof symbol);
    }
}

}  // namespace

std::uint64_t content_bytes(const BlockShape& shape) {
    return is_wide(shape) ? 2 * shape.elements() : radix_bytes(shape.elements(), shape.alphabet);
}

Result<std::span<const std::byte>> pack_content(const BlockShape& shape, std::span<const std::byte> symbols) {
    assert(symbols.size() == shape.elements() * shape.symbol_bytes());
    if (is_copy(shape)) return symbols;
    const std::size_t size = content_bytes(shape);
    GRADZ_TRY(std::byte* const content, thread_scratch(size));
    if (is_wide(shape)) part(symbols, content);
    else pack_radix(symbols.data(), symbols.size(), shape.alphabet, content);
    return std::span<const std::byte>(content, size);
}

Result<std::span<std::byte>> content_room(const BlockShape& shape, std::span<std::byte> symbols) {
    if (is_copy(shape)) return symbols;
    const std::size_t size = content_bytes(shape);
    GRADZ_TRY(std::byte* const content, thread_scratch(size));
    return std::span(content, size);
}

Result<Done> unpack_content(const BlockShape& shape, std::span<const std::byte> content, std::span<std::byte> symbols) {
    if (is_copy(shape)) return check_symbols(symbols, shape.alphabet);
    if (is_wide(shape)) {
        join(content.data(), symbols);
        return check_symbols(symbols, shape.alphabet);
    }
    const std::size_t j = unpack_radix(content.data(), symbols.size(), shape.alphabet, symbols.data());
    if (j == content.size()) return Done{};
    return Error{Errc::corrupt, "byte is not digits of base " + std::to_string(shape.alphabet),
                 "byte " + std::to_string(j) + " of the content"};
}

}  // namespace gradz
