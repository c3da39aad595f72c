// Coder `rans`: order-0 rANS of a block's content (content.hpp), the fastest way near its entropy.
#include <cassert>

#include "coder/check.hpp"
#include "coder/coders.hpp"
#include "coder/content.hpp"
#include "core/rans.hpp"

namespace gradz {
namespace {

class Rans final : public Coder {
public:
    std::uint16_t id() const override { return kRansId; }

    Result<Done> encode(const BlockShape& shape, std::span<const std::byte> symbols, std::span<const float>,
                        std::vector<std::byte>& out) const override {
        GRADZ_TRY(const auto content, pack_content(shape, symbols));
        if (content.empty()) return Done{};
        return rans_compress(content, out);
    }

    Result<Done> decode(const BlockShape& shape, std::span<const std::byte> code, std::span<std::byte> symbols,
                        std::span<float>) const override {
        assert(symbols.size() == shape.elements() * shape.symbol_bytes());
        GRADZ_TRY(const auto content, content_room(shape, symbols));
        if (content.empty()) return check_length(code.size(), 0);
        GRADZ_TRY([[maybe_unused]] const Done read, rans_decompress(code, content));
        return unpack_content(shape, content, symbols);
    }
};

}  // namespace

std::unique_ptr<Coder> make_rans() { return std::make_unique<Rans>(); }

}  // namespace gradz
