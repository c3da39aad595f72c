// CRC-32 as zip archives use it, at the speed of memory where the CPU multiplies without carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradz::formats {

// The CRC of a byte string whose first part has the CRC `crc` and goes on with `bytes`; that
// of nothing is 0.
std::uint32_t crc32_of(std::uint32_t crc, std::span<const std::byte> bytes);

// What a part contributes to the CRC of the whole when `after` bytes follow it: the CRC of a
// concatenation is the exclusive or of its parts' contributions, in any order.
std::uint32_t crc32_contribution(std::uint32_t crc, std::uint64_t after);

}  // namespace gradz::formats
