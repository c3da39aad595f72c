// Reads streams: forward from anything, or by the index from what can be read out of order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "container/record.hpp"
#include "core/byte_io.hpp"
#include "core/origin.hpp"

namespace gradz {

struct StreamHead {
    std::uint8_t major = 1, minor = 0;
    std::uint32_t required = 0, optional = 0;
    std::uint64_t seed = 0;
};

// What the records before the blocks say. Grows as they are read.
struct StreamState {
    StreamHead head;
    Origin origin;
    std::vector<std::string> specs;
    std::vector<TensorHeader> tensors;
    std::vector<std::uint64_t> elements;      // of each tensor
    std::vector<std::uint64_t> header_bytes;  // of each tensor, as StreamWriter::tensors gives them
};

struct Record {
    std::uint8_t type = 0;
    std::uint64_t offset = 0;          // of the record, from the start of the input
    std::uint64_t length = 0;          // type to checksum
    std::span<const std::byte> body;   // valid until the next call
    std::span<const std::byte> whole;  // type to checksum
};

// One step of a forward reader.
enum class StepKind : std::uint8_t { head, record, end };  // HEAD; a record but INDEX; INDEX and END
struct StreamStep {
    StepKind kind;
    Record record;  // of kind record
};

// Reads any number of streams one after another from a pipe or a file. Checks frames,
// checksums, order and features, applies ORIGIN, SPEC and TENSORS to state(), skips unknown
// skippable records, and compares INDEX and END with what went by. What BLOCK bodies hold
// is for pipeline/ to decode; their order and ranges are checked by BlockOrder below.
// `where` of an error: "record at byte 1234".
class StreamReader {
public:
    // The source must outlive the reader.
    explicit StreamReader(ByteSource& source) : source_(source) {}

    // Nothing at the end of the input; Errc::truncated if it ends elsewhere, also if it is empty.
    Result<std::optional<StreamStep>> next();

    const StreamState& state() const { return state_; }  // of the stream at hand
    std::uint64_t offset() const { return offset_; }     // bytes read so far

private:
    Result<StreamStep> read_head();
    Result<std::optional<StreamStep>> read_record();
    Result<Done> read_end();

    ByteSource& source_;
    StreamState state_;
    std::vector<std::byte> buffer_;
    std::vector<std::byte> listed_;  // what INDEX must say, as it is collected
    std::uint64_t offset_ = 0, begin_ = 0, count_ = 0, last_tensor_ = 0;
    bool inside_ = false, any_ = false;
};

// Blocks of a stream must come in element order and cover every element once.
class BlockOrder {
public:
    // Checks a block against the tensors known so far and moves on. Errc::corrupt names the
    // block that was expected. The block covers elements [first, first + count) of its tensor,
    // or all of `tensors` tensors.
    Result<Chunk> next(const BlockHead& head, const StreamState& state);

    // At a TENSORS record and at the end: nothing is missing.
    Result<Done> complete(const StreamState& state);

private:
    std::uint64_t tensor_ = 0, element_ = 0;
};

// Elements of a bucket and of a chunk for a spec text, from its `bucket` key (docs/FORMAT.md 8).
Result<std::uint64_t> bucket_of(const std::string& spec, std::uint64_t elements);

struct IndexedBlock {
    std::uint64_t offset, length;  // of the record, from the start of the input
    std::uint64_t tensor, chunk;
};

// One stream of a file, by its index. Only ORIGIN, SPEC and TENSORS records were read.
struct IndexedStream {
    std::uint64_t begin = 0, length = 0;
    StreamState state;
    std::vector<IndexedBlock> blocks;  // in order
};

// All streams of the input, in order, found from its end. Precondition: source.size().
// Checksums of the records it reads, of INDEX and of END are verified; blocks are listed
// in order and complete, or Errc::corrupt.
Result<std::vector<IndexedStream>> read_index(ByteSource& source);

// One record by its place: frame and checksum verified, `buffer` holds it.
Result<Record> read_record_at(ByteSource& source, std::uint64_t offset, std::uint64_t length,
                              std::vector<std::byte>& buffer);

// Whether bytes begin like a stream: at least 8 are needed to say yes.
bool is_stream(std::span<const std::byte> start);

}  // namespace gradz
