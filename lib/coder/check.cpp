#include "coder/check.hpp"

#include <algorithm>
#include <cstring>

namespace gradz {
namespace {

template <class Symbol>
Symbol symbol_at(std::span<const std::byte> symbols, std::size_t i) {
    Symbol symbol;
    std::memcpy(&symbol, symbols.data() + i * sizeof symbol, sizeof symbol);
    return symbol;
}

// The largest first, so that the usual case is one loop without branches.
template <class Symbol>
Result<Done> check(std::span<const std::byte> symbols, std::uint32_t alphabet) {
    const std::size_t n = symbols.size() / sizeof(Symbol);
    Symbol top = 0;
#pragma omp simd reduction(max : top)
    for (std::size_t i = 0; i < n; ++i) top = std::max(top, symbol_at<Symbol>(symbols, i));
    if (top < alphabet) return Done{};
    std::size_t i = 0;
    while (symbol_at<Symbol>(symbols, i) < alphabet) ++i;
    return Error{
        Errc::corrupt,
        "symbol is " + std::to_string(symbol_at<Symbol>(symbols, i)) + ", want below " + std::to_string(alphabet),
        "symbol " + std::to_string(i)};
}

}  // namespace

Result<std::byte*> thread_scratch(std::size_t count) {
    thread_local std::vector<std::byte> scratch;
    if (scratch.size() < count) { GRADZ_TRY([[maybe_unused]] const auto* more, grow(scratch, count - scratch.size())); }
    return scratch.data();
}

Result<Done> check_length(std::size_t bytes, std::uint64_t want) {
    if (bytes == want) return Done{};
    return Error{bytes < want ? Errc::truncated : Errc::corrupt,
                 "code of " + std::to_string(bytes) + " bytes, want " + std::to_string(want),
                 "byte " + std::to_string(std::min<std::uint64_t>(bytes, want))};
}

Result<Done> check_symbols(std::span<const std::byte> symbols, std::uint32_t alphabet) {
    if (alphabet == 256 || alphabet == 65536) return Done{};  // all patterns are symbols
    return alphabet <= 256 ? check<std::uint8_t>(symbols, alphabet) : check<std::uint16_t>(symbols, alphabet);
}

}  // namespace gradz
