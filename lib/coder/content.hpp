// What coders of bytes see of a block: several small symbols to a byte (radix.hpp), one symbol a
// byte, or two planes of bytes where the alphabet exceeds 256. They see whole digits: on
// fields of 3, 5, 6 and 7 bits, which straddle bytes, zstd loses 11 to 49 %.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.hpp"
#include "core/symbols.hpp"

namespace gradz {

// Of all symbols of the block.
std::uint64_t content_bytes(const BlockShape& shape);

// The content of `symbols`: they themselves, or a buffer of the calling thread that is valid
// until it packs or asks for room again. Errc::io for want of memory.
Result<std::span<const std::byte>> pack_content(const BlockShape& shape, std::span<const std::byte> symbols);

// Where to decode a content to: `symbols` itself, or a buffer as above. [content_bytes(shape)]
Result<std::span<std::byte>> content_room(const BlockShape& shape, std::span<std::byte> symbols);

// The reverse, in place where `content` is `symbols`. Errc::corrupt, naming the place, unless it is
// what pack_content makes of symbols below the alphabet.
Result<Done> unpack_content(const BlockShape& shape, std::span<const std::byte> content, std::span<std::byte> symbols);

}  // namespace gradz
