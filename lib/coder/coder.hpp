// Symbols to bytes and back, without loss. A coder sees one block: the symbols of its coded
// (not escaped) buckets one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/stage.hpp"
#include "core/symbols.hpp"

namespace gradz {

// The bytes that a coder turns symbols into, or those it makes of them again.
//   symbols  [elements * symbol_bytes], u8, or u16 little-endian where the alphabet exceeds 256
//   scales   [buckets], or empty where the scheme has none (fp16, bf16)
class Coder {
public:
    virtual ~Coder() = default;

    virtual std::uint16_t id() const = 0;  // that of its row, stored with each block

    // `elias` writes the scales itself; for all others they are a section of the block.
    virtual bool carries_scales() const { return false; }

    // Appends to `out`, which may be any length. Preconditions: sizes as above, every symbol
    // below the alphabet. Fails only for want of memory. Const: all threads share one object.
    virtual Result<Done> encode(const BlockShape& shape, std::span<const std::byte> symbols,
                                std::span<const float> scales, std::vector<std::byte>& out) const = 0;

    // `code` comes from a file: anything but exactly what encode() writes for such a shape is
    // Errc::corrupt or truncated, including bits left over; `rans` alone may not see bytes that it does
    // not need, which the checksums of record and content do. Symbols >= alphabet are refused here.
    // symbols: filled. scales: filled if carries_scales(), else not touched.
    virtual Result<Done> decode(const BlockShape& shape, std::span<const std::byte> code, std::span<std::byte> symbols,
                                std::span<float> scales) const = 0;
};

// The stages of kind coder: fixed (id 1), elias (2), zstd (3), rans (4). Ids are on disk.
std::span<const StageRow> coder_stages();

// stage_name and parameters as resolved. nullptr for a name that is no coder.
std::unique_ptr<Coder> make_coder(std::string_view name, std::span<const std::pair<std::string, std::string>> params);

// For blocks whose spec names another coder, as the fallback does: by id, nullptr if unknown.
// Parameters that a decoder needs are part of the code, so that ids alone decode.
std::unique_ptr<Coder> coder_by_id(std::uint16_t id);

// Bytes that `fixed` takes for n symbols of an alphabet: ceil(log2 alphabet) bits each, ternary
// five to a byte.
std::uint64_t fixed_bytes(std::uint64_t n, std::uint32_t alphabet);

// Elements that are carried bit for bit: byte planes of `width` (all first bytes, then all
// second ones, ..), each through zstd; raw where that does not gain.
//   id 0: the bytes as they are; id 1: planes
struct ElementCode {
    std::uint8_t id;
    std::vector<std::byte> bytes;
};
// level 0: raw. `bytes` is a whole number of elements of `width` bytes.
Result<Done> encode_elements(std::span<const std::byte> bytes, std::size_t width, int level, ElementCode& out);
Result<Done> decode_elements(std::uint8_t id, std::span<const std::byte> code, std::size_t width,
                             std::span<std::byte> bytes);

}  // namespace gradz
