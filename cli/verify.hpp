// Reads streams back without keeping anything.
#pragma once

#include <cstdint>
#include <string>

#include "core/byte_io.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"

namespace gradz::cli {

struct Verified {
    std::uint64_t streams = 0, tensors = 0, elements = 0;
};

// Every hash, every block decoded. digest: see decode_streams().
Result<Verified> verify(ByteSource& source, int threads, Digest* digest = nullptr);

// Unlinks `file`, a regular file, after `target` was verified. Returns the exit status.
int remove_verified(const std::string& file, const std::string& target, int threads);

}  // namespace gradz::cli
