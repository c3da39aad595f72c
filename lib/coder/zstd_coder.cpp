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
