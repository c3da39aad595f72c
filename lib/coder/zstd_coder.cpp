// Coder `zstd`: its entropy coding of a block's content (content.hpp).
#include <cassert>

#include "coder/coders.hpp"
#include "coder/content.hpp"
#include "core/zstd.hpp"

namespace gradz {
namespace {

class Zstd final : public Coder {
public:
    explicit Zstd(int level) : level_(level) { assert(level >= kZstdMinLevel && level <= kZstdMaxLevel); }
    std::uint16_t id() const override { return kZstdId; }

    Result<Done> encode(const BlockShape& shape, std::span<const std::byte> symbols, std::span<const float>,
                        std::vector<std::byte>& out) const override {
        GRADZ_TRY(const auto content, pack_content(shape, symbols));
        return zstd_compress(content, level_, out);
    }

    Result<Done> decode(const BlockShape& shape, std::span<const std::byte> code, std::span<std::byte> symbols,
                        std::span<float>) const override {
        assert(symbols.size() == shape.elements() * shape.symbol_bytes());
        GRADZ_TRY(const auto content, content_room(shape, symbols));
        GRADZ_TRY([[maybe_unused]] const Done read, zstd_decompress(code, content));
        return unpack_content(shape, content, symbols);
    }

private:
    int level_;
};

}  // namespace

std::unique_ptr<Coder> make_zstd(int level) { return std::make_unique<Zstd>(level); }

}  // namespace gradz
