// What frames a stream and its records (docs/FORMAT.md 2): HEAD, END, and the type,
// length and checksum around every body.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "container/record.hpp"

namespace gradz {

struct StreamHead {
    std::uint8_t major = 1, minor = 0;
    std::uint32_t required = 0, optional = 0;
    std::uint64_t seed = 0;
};

struct StreamEnd {
    std::uint64_t index = 0;   // offset of INDEX from the stream's first byte
    std::uint64_t length = 0;  // of the stream, HEAD to END
};

// HEAD, one INDEX with the shortest zstd frame, END: nothing shorter is a stream.
constexpr std::uint64_t kMinStream = 80;

void write_head(const StreamHead& head, std::vector<std::byte>& out);
void write_end(const StreamEnd& end, std::vector<std::byte>& out);

// Whether bytes, of which there may be fewer than a magic has, begin like a stream.
bool begins_like_stream(std::span<const std::byte> bytes);

// Of exactly kHeadBytes and kEndBytes. A format or a required feature that this reader does
// not know is Errc::incompatible, everything else Errc::corrupt.
Result<StreamHead> read_head(std::span<const std::byte> bytes);
Result<StreamEnd> read_end(std::span<const std::byte> bytes);

struct RecordStart {
    std::uint8_t type = 0;
    std::uint64_t body_at = 0;  // where the body begins in the record
    std::uint64_t length = 0;   // of the whole record, at most kMaxRecord
};

// From the first kMinRecord bytes of a record: type and length take no more of them.
Result<RecordStart> read_record_start(std::span<const std::byte> start);

// A whole record, checksum verified.
Result<Record> open_record(std::span<const std::byte> whole, std::uint64_t offset);

// Adds the place to an error. The bytes of a record are all there: a body that ends early
// is not a truncated input but one that contradicts itself.
Error at_byte(Error error, std::uint64_t offset, const char* part = "record");
Error in_body(Error error, std::uint64_t offset);

}  // namespace gradz
