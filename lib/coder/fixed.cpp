// Coder `fixed`: every symbol the same number of bits, so that the size is known from the
// shape alone.
#include <bit>
#include <cassert>

#include "coder/check.hpp"
#include "coder/coders.hpp"
#include "coder/pack.hpp"
#include "coder/radix.hpp"

namespace gradz {
namespace {

constexpr std::uint32_t kTernary = 3;  // five to a byte: 1.6 bits instead of 2

unsigned field_width(std::uint32_t alphabet) { return static_cast<unsigned>(std::bit_width(alphabet - 1)); }

class Fixed final : public Coder {
public:
    std::uint16_t id() const override { return kFixedId; }

    Result<Done> encode(const BlockShape& shape, std::span<const std::byte> symbols, std::span<const float>,
                        std::vector<std::byte>& out) const override {
        const std::size_t n = symbols.size() / shape.symbol_bytes();
        assert(n == shape.elements());
        GRADZ_TRY(std::byte* const bytes, grow(out, fixed_bytes(n, shape.alphabet)));
        if (shape.alphabet == kTernary) pack_radix(symbols.data(), n, kTernary, bytes);
        else pack_bits(symbols.data(), n, field_width(shape.alphabet), bytes);
        return Done{};
    }

    Result<Done> decode(const BlockShape& shape, std::span<const std::byte> code, std::span<std::byte> symbols,
                        std::span<float>) const override {
        const std::size_t n = symbols.size() / shape.symbol_bytes();
        assert(n == shape.elements());
        GRADZ_TRY([[maybe_unused]] const Done sized, check_length(code.size(), fixed_bytes(n, shape.alphabet)));
        if (shape.alphabet == kTernary) {
            const std::size_t j = unpack_radix(code.data(), n, kTernary, symbols.data());
            if (j == code.size()) return Done{};
            return Error{Errc::corrupt, "byte is not five ternary digits", "byte " + std::to_string(j)};
        }
        if (!unpack_bits(code.data(), n, field_width(shape.alphabet), symbols.data()))
            return Error{Errc::corrupt, "unused bits are set", "byte " + std::to_string(code.size() - 1)};
        return check_symbols(symbols, shape.alphabet);
    }
};

}  // namespace

std::uint64_t fixed_bytes(std::uint64_t n, std::uint32_t alphabet) {
    return alphabet == kTernary ? radix_bytes(n, kTernary) : packed_bytes(n, field_width(alphabet));
}

std::unique_ptr<Coder> make_fixed() { return std::make_unique<Fixed>(); }

}  // namespace gradz
