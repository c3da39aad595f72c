// libzstd behind three calls. Contexts are kept per thread, so that a block costs no set-up.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/error.hpp"

namespace gradz {

constexpr int kZstdMinLevel = 1, kZstdMaxLevel = 19;

// Appends one frame (content size declared, no checksum: records carry their own) to `out`.
// Only allocation can fail: Errc::io.
Result<Done> zstd_compress(std::span<const std::byte> in, int level, std::vector<std::byte>& out);

// The same, but of literals only: bytes are coded by how frequent they are, and nothing looks for what
// repeats. As zstd_compress() at level 1 where the library cannot do without.
Result<Done> zstd_compress_literals(std::span<const std::byte> in, std::vector<std::byte>& out);

// Exactly one frame that decodes to exactly into.size() bytes; anything else is Errc::corrupt.
Result<Done> zstd_decompress(std::span<const std::byte> frame, std::span<std::byte> into);

}  // namespace gradz
