// Coder `zstd`: entropy coding of packed symbols. It sees whole bytes of digits: on fields
// of 3, 5, 6 and 7 bits, which straddle bytes, it loses 11 to 49 %.
#include <cassert>
#include <cstring>

#include "coder/check.hpp"
#include "coder/coders.hpp"
#include "coder/radix.hpp"
#include "core/zstd.hpp"

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

// The share of its words whose eight bytes are one and the same, in 1/1000. content: [>= 0]
std::size_t repeats_per_mille(std::span<const std::byte> content) {
    const std::size_t words = content.size() / 8;
    std::size_t same = 0;
#pragma omp simd reduction(+ : same)
    for (std::size_t i = 0; i < words; ++i) {
        std::uint64_t word;
        std::memcpy(&word, content.data() + 8 * i, sizeof word);
        same += word == (word << 8 | word >> 56);
    }
    return words == 0 ? 0 : 1000 * same / words;
}

// Symbols of one block hardly depend on each other. Where there are few of them, short matches abound by
// chance, and the fastest level takes those: at 3 bits a third more bytes than by frequencies alone, and
// a third of the speed. Runs of one byte are the exception that matches are for: from two fifths of all
// words on they are worth it (no block of tests/data/gradients or of independent symbols lost below).
bool are_literals_better(std::uint32_t alphabet, std::span<const std::byte> content) {
    constexpr std::uint32_t kFewSymbols = 7;
    constexpr std::size_t kMostRepeats = 400;
    return alphabet <= kFewSymbols && repeats_per_mille(content) < kMostRepeats;
}

class Zstd final : public Coder {
public:
    explicit Zstd(int level) : level_(level) { assert(level >= kZstdMinLevel && level <= kZstdMaxLevel); }
    std::uint16_t id() const override { return kZstdId; }

    Result<Done> encode(const BlockShape& shape, std::span<const std::byte> symbols, std::span<const float>,
                        std::vector<std::byte>& out) const override {
        assert(symbols.size() == shape.elements() * shape.symbol_bytes());
        if (is_copy(shape)) return zstd_compress(symbols, level_, out);
        const std::size_t size = content_bytes(shape, symbols.size());
        GRADZ_TRY(std::byte* const content, thread_scratch(size));
        if (is_wide(shape)) part(symbols, content);
        else pack_radix(symbols.data(), symbols.size(), shape.alphabet, content);
        if (level_ == kZstdMinLevel && are_literals_better(shape.alphabet, {content, size}))
            return zstd_compress_literals({content, size}, out);
        return zstd_compress({content, size}, level_, out);
    }

    Result<Done> decode(const BlockShape& shape, std::span<const std::byte> code, std::span<std::byte> symbols,
                        std::span<float>) const override {
        assert(symbols.size() == shape.elements() * shape.symbol_bytes());
        if (is_copy(shape)) {
            GRADZ_TRY([[maybe_unused]] const Done read, zstd_decompress(code, symbols));
            return check_symbols(symbols, shape.alphabet);
        }
        const std::size_t size = content_bytes(shape, symbols.size());
        GRADZ_TRY(std::byte* const content, thread_scratch(size));
        GRADZ_TRY([[maybe_unused]] const Done read, zstd_decompress(code, {content, size}));
        if (is_wide(shape)) {
            join(content, symbols);
            return check_symbols(symbols, shape.alphabet);
        }
        const std::size_t j = unpack_radix(content, symbols.size(), shape.alphabet, symbols.data());
        if (j == size) return Done{};
        return Error{Errc::corrupt, "byte is not digits of base " + std::to_string(shape.alphabet),
                     "byte " + std::to_string(j) + " of the content"};
    }

private:
    static std::size_t content_bytes(const BlockShape& shape, std::size_t bytes) {
        return is_wide(shape) ? bytes : radix_bytes(bytes, shape.alphabet);
    }

    int level_;
};

}  // namespace

std::unique_ptr<Coder> make_zstd(int level) { return std::make_unique<Zstd>(level); }

}  // namespace gradz
