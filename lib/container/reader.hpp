// Reads streams: forward from anything, or by the index from what can be read out of order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "container/block_order.hpp"
#include "container/index_codec.hpp"
#include "container/record.hpp"
#include "container/state.hpp"
#include "container/stream_check.hpp"
#include "core/byte_io.hpp"
#include "core/origin.hpp"

namespace gradz {

// One step of a forward reader.
enum class StepKind : std::uint8_t { head, record, end };  // HEAD; a record but INDEX; INDEX and END
struct StreamStep {
    StepKind kind;
    Record record{};          // of kind record
    BlockHead block{};        // of a BLOCK record
    Chunk block_elements{};   // of a BLOCK record: in its tensor, or all of those of a run
    std::size_t rest_at = 0;  // of a BLOCK record: where its sections begin in record.body
};

// Reads any number of streams one after another from a pipe or a file. Checks frames,
// checksums, order and features, applies ORIGIN, SPEC and TENSORS to state(), skips unknown
// skippable records, and compares INDEX and END with what went by. Blocks are complete and
// in order, the heads of their bodies are checked; the rest of a body is for pipeline/.
// Memory: the record at hand, as far as its bytes have come, and the state.
// `where` of an error: "record at byte 1234", "head at byte 0", "end at byte 5678".
class StreamReader {
public:
    // The source must outlive the reader. `state_bytes`: see budget.hpp.
    explicit StreamReader(ByteSource& source, std::uint64_t state_bytes = StateBudget::kBase)
        : source_(source), state_bytes_(state_bytes), check_(budget_) {}

    // Nothing at the end of the input; Errc::truncated if it ends elsewhere, also if it is
    // empty. Not to be called again after an error.
    Result<std::optional<StreamStep>> next();

    const StreamState& state() const { return check_.state(); }  // of the stream at hand
    std::uint64_t offset() const { return offset_; }             // bytes read so far

private:
    Result<std::optional<StreamStep>> read_head();
    Result<std::optional<StreamStep>> read_record();
    Result<Record> read_whole();
    Result<StreamStep> apply(const Record& record);
    Result<Done> read_end(const Record& index);
    Result<std::size_t> fill(std::size_t at, std::size_t count);

    ByteSource& source_;
    std::uint64_t state_bytes_;
    StateBudget budget_;
    StreamCheck check_;
    IndexBuilder index_;  // what INDEX must say, as it is collected
    std::vector<std::byte> buffer_;
    std::uint64_t offset_ = 0, begin_ = 0;
    bool inside_ = false;
};

struct IndexedBlock {
    std::uint64_t offset, length;  // of the record, from the start of the input
    std::uint64_t tensor, chunk;
    std::uint64_t tensors;  // above 1 only for a run
    Chunk elements;         // of its tensor, or all of those of a run
};

// One stream of a file, by its index. Only ORIGIN, SPEC and TENSORS records were read.
struct IndexedStream {
    std::uint64_t begin = 0, length = 0;
    StreamState state;
    std::vector<IndexedBlock> blocks;  // in order
};

// All streams of the input, in order, found from its end. Precondition: source.size().
// Checksums of the records it reads, of HEAD, INDEX and END are verified; blocks are listed
// in order and complete, or Errc::corrupt. An input that begins like a stream but ends
// without END is Errc::truncated. `state_bytes` is for all streams together.
Result<std::vector<IndexedStream>> read_index(ByteSource& source, std::uint64_t state_bytes = StateBudget::kBase);

// One record by its place: frame and checksum verified, `buffer` holds it.
Result<Record> read_record_at(ByteSource& source, std::uint64_t offset, std::uint64_t length,
                              std::vector<std::byte>& buffer);

// Whether bytes begin like a stream: at least 8 are needed to say yes.
bool is_stream(std::span<const std::byte> start);

}  // namespace gradz
