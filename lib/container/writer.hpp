// Writes one stream, record after record; never seeks.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "container/budget.hpp"
#include "container/index_codec.hpp"
#include "container/record.hpp"
#include "core/byte_io.hpp"
#include "core/origin.hpp"

namespace gradz {

// Bytes by kind; they add up to what was written.
struct StreamBytes {
    std::uint64_t head = 0, origin = 0, spec = 0, tensors = 0, blocks = 0, index = 0, end = 0;
    std::uint64_t total() const { return head + origin + spec + tensors + blocks + index + end; }
};

// The order of calls is that of docs/FORMAT.md 2: head, origin, then spec, tensors and the
// blocks of these tensors (BlockOrder says which), finish.
class StreamWriter {
public:
    // The sink must outlive the writer. Writes nothing yet.
    StreamWriter(ByteSink& sink, std::uint64_t seed) : sink_(sink), seed_(seed) {}

    Result<Done> head();
    Result<Done> origin(const Origin& origin);  // nothing for an empty one; in pieces below kMaxBody

    // The number of `text`, which is written when it comes for the first time. Its
    // quantizer must be one that bucket_of() knows.
    Result<std::uint32_t> spec(const std::string& text);

    // One TENSORS record of 1 to kBatchTensors headers, whose keys must be tensor_key() of
    // the stream's seed. `each`, if given, is set to every header's bytes (record overhead
    // goes to the first), so that they add up to the record.
    Result<Done> tensors(std::span<const TensorHeader> headers, std::vector<std::uint64_t>* each = nullptr);

    // A whole BLOCK record as RecordBuilder::finish() gives it, and what it begins with.
    Result<Done> block(std::span<const std::byte> record, std::uint64_t tensor, std::uint64_t chunk);

    Result<Done> finish();  // INDEX and END

    const StreamBytes& bytes() const { return bytes_; }

private:
    Result<Done> put(std::span<const std::byte> bytes, std::uint64_t& count);
    Result<std::uint64_t> put_record(std::uint64_t& count);  // record_: its bytes; listed unless it is INDEX

    ByteSink& sink_;
    std::uint64_t seed_;
    std::map<std::string, std::uint32_t> specs_;
    IndexBuilder index_;
    StateBudget budget_;
    StreamBytes bytes_;
    RecordBuilder record_;
};

}  // namespace gradz
