// Order-0 rANS, 32 states interleaved, by htscodecs (BSD-3-Clause): the format "rANS Nx16" of CRAM
// 3.1, without its size field.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/error.hpp"

namespace gradz {

// Appends the code of `in`, which has 1 .. 2^30 bytes; it is at most one byte longer than `in`. The
// same bytes on every CPU.
Result<Done> rans_compress(std::span<const std::byte> in, std::vector<std::byte>& out);

// Errc::corrupt unless `code` decodes to exactly `into`, which has at least one byte. Reads nothing
// beyond `code`, and allocates no more than the longest code of so many bytes takes. That all of `code` was needed
// is not checked: callers hash.
Result<Done> rans_decompress(std::span<const std::byte> code, std::span<std::byte> into);

}  // namespace gradz
