// Reads streams back without keeping anything.
#pragma once

#include <cstdint>
#include <string>

#include "core/byte_io.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "pipeline/device.hpp"

namespace gradz::cli {

struct Verified {
    std::uint64_t streams = 0, tensors = 0, elements = 0;
};

// Every hash, every block decoded. digest: see decode_streams().
Result<Verified> verify(ByteSource& source, int threads, Digest* digest = nullptr, const Device& device = cpu_device());

// What tells whether a path still leads to the file that was read.
struct Identity {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;  // mtime
    bool regular = false;

    bool operator==(const Identity&) const = default;
};
Identity identity_of(const std::string& file);

// Unlinks `file` if it is still the regular file that it was before it was read; else it
// is kept with a warning. Returns the exit status.
int remove_unchanged(const std::string& file, const Identity& before);

// The same after `target`, a stream, was verified.
int remove_verified(const std::string& file, const Identity& before, const std::string& target, int threads);

}  // namespace gradz::cli
