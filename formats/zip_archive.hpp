// The directory of a zip archive in memory. Entry sizes and offsets come from the central
// directory, and nothing is believed that the local headers or the bytes at hand contradict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace gradz::formats {

constexpr std::uint16_t kZipStored = 0, kZipDeflated = 8;
constexpr std::uint16_t kZipEncrypted = 1 << 0, kZipDescriptor = 1 << 3, kZipUtf8 = 1 << 11;  // flag bits
constexpr std::uint64_t kDeflateGain = 1032;  // no deflate stream grows more than this

struct ZipMember {
    std::string name;  // any bytes; never a path
    std::uint16_t flags = 0, method = 0;
    std::uint32_t crc = 0;               // CRC-32 of the `size` bytes
    std::uint64_t size = 0, stored = 0;  // bytes of the member, and what they take in the archive
    std::uint64_t header = 0, data = 0;  // where its local header and its stored bytes begin
};

// In directory order. Members lie inside `archive`, before the directory, and do not
// overlap; stored ones have size == stored; a deflated one may not declare more than its
// bytes can hold. Bytes before the archive and a comment behind it are let be, as Python's
// zipfile does. Errc::truncated without an end record, corrupt for any contradiction,
// unsupported for archives in several parts. Names may repeat; methods and encryption are
// the caller's to judge.
Result<std::vector<ZipMember>> read_zip_directory(std::span<const std::byte> archive);

// Errc::unsupported unless the member can be read here: names an encrypted member, or the
// method by number and name.
Result<Done> check_readable(const ZipMember& member);

}  // namespace gradz::formats
