// The head of a safetensors file: a length and a JSON object that says where each tensor lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/tensor.hpp"

namespace gradz::formats {

constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes: the format's own limit

using Metadata = std::vector<std::pair<std::string, std::string>>;  // UTF-8, in file order

struct SafetensorsHeader {
    std::vector<TensorInfo> tensors;     // by offset; step and worker are not set
    std::vector<std::uint64_t> offsets;  // of each tensor's first byte, from the file's start
    Metadata metadata;
};

// file: all of it. Its bytes must belong to exactly one tensor each: no holes, no overlap,
// nothing behind the last one. Errc::truncated where it ends early; Errc::corrupt for what
// is no such JSON (a name that comes twice included) and for contradictions; Errc::unsupported
// names a dtype that is unknown or narrower than a byte.
Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file);

// Length and JSON, padded with spaces to a multiple of 8 bytes, for tensors that follow each
// other without gaps. Errc::unsupported for a dtype the format lacks, a name or metadata
// that are not UTF-8, and a header over the limit; Errc::corrupt for the name __metadata__.
Result<std::string> print_safetensors(std::span<const TensorInfo> tensors, const Metadata& metadata);

}  // namespace gradz::formats
