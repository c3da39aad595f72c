// Coder `zstd`: its entropy coding of a block's content (content.hpp).
#include <cassert>
#include <cstdint>
#include <cstring>

#include "coder/coders.hpp"
#include "coder/content.hpp"
#include "core/zstd.hpp"

namespace gradz {
namespace {

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
        GRADZ_TRY(const auto content, pack_content(shape, symbols));
        if (level_ == kZstdMinLevel && are_literals_better(shape.alphabet, content))
            return zstd_compress_literals(content, out);
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
