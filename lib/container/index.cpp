// Reading by the index: the work is proportional to the index and to what tensors and
// files are called, not to the blocks.
#include <algorithm>

#include "container/reader.hpp"

namespace gradz {
namespace {

struct Placed {
    std::uint64_t begin;  // of the stream in the input
    StreamEnd end;
};

// Why no stream ends at `at`.
Error no_end(ByteSource& source, std::uint64_t at, std::uint64_t size) {
    std::vector<std::byte> start(std::min<std::uint64_t>(size, kHeadMagic.size()));
    if (auto read = source.read_at(0, start); !read) return read.error();
    if (at < size) return at_byte({Errc::corrupt, "no stream ends where the next one begins", ""}, at, "end");
    if (!begins_like_stream(start)) return at_byte({Errc::corrupt, "not a gradz stream", ""}, 0, "head");
    // Something may as well have been appended, but most files that lack their end were cut.
    return at_byte({Errc::truncated, "the input ends without the end of a stream", ""}, at, "end");
}

Result<Placed> stream_before(ByteSource& source, std::uint64_t at, std::uint64_t size) {
    if (at < kMinStream) return no_end(source, at, size);
    std::array<std::byte, kEndBytes> bytes;
    GRADZ_TRY([[maybe_unused]] const auto done, source.read_at(at - kEndBytes, bytes));
    if (!std::ranges::equal(std::span(bytes).last(kEndMagic.size()), std::as_bytes(std::span(kEndMagic))))
        return no_end(source, at, size);
    auto end = read_end(bytes);
    if (!end) return at_byte(end.error(), at - kEndBytes, "end");
    // The length is at least kMinStream, so that the walk to the front comes to its end.
    if (end->length < kMinStream || end->length > at || end->index < kHeadBytes ||
        end->index > end->length - kEndBytes - kMinRecord)
        return at_byte({Errc::corrupt,
                        "a stream of " + std::to_string(end->length) + " bytes with INDEX at " +
                            std::to_string(end->index) + " cannot be",
                        ""},
                       at - kEndBytes, "end");
    return Placed{at - end->length, *end};
}

Result<std::vector<Placed>> find_streams(ByteSource& source, std::uint64_t size) {
    std::vector<Placed> out;
    for (std::uint64_t at = size; at > 0; at = out.back().begin) {
        GRADZ_TRY(auto placed, stream_before(source, at, size));
        out.push_back(placed);
    }
    std::reverse(out.begin(), out.end());
    return out;
}

// One stream, whose records are read in order as far as they must be.
class IndexReader {
public:
    IndexReader(ByteSource& source, const Placed& placed, StateBudget& budget)
        : source_(source), placed_(placed), check_(budget) {}

    Result<IndexedStream> read() {
        GRADZ_TRY([[maybe_unused]] const auto head, read_head_bytes());
        GRADZ_TRY(const auto index,
                  read_record_at(source_, index_at(), placed_.end.length - placed_.end.index - kEndBytes, buffer_));
        if (!index.is(RecordType::index))
            return at_byte({Errc::corrupt, "not INDEX, where END says that it is", ""}, index_at());
        GRADZ_TRY([[maybe_unused]] const auto done, walk(index.body));
        out_.begin = placed_.begin;
        out_.length = placed_.end.length;
        out_.state = check_.take_state();
        return std::move(out_);
    }

private:
    std::uint64_t index_at() const { return placed_.begin + placed_.end.index; }

    template <class T>
    static Result<T> placed_at(Result<T> result, std::uint64_t offset) {
        if (!result) return in_body(std::move(result.error()), offset);
        return result;
    }

    Result<Done> read_head_bytes() {
        std::array<std::byte, kHeadBytes> bytes;
        GRADZ_TRY([[maybe_unused]] const auto done, source_.read_at(placed_.begin, bytes));
        auto head = read_head(bytes);
        if (!head) return at_byte(head.error(), placed_.begin, "head");
        check_.start(*head);
        return Done{};
    }

    Result<Done> walk(std::span<const std::byte> index) {
        GRADZ_TRY(auto parser, placed_at(IndexParser::open(index, placed_.end.index - kHeadBytes), index_at()));
        for (std::uint64_t offset = placed_.begin + kHeadBytes; parser.count() > 0;) {
            GRADZ_TRY(const auto entry, placed_at(parser.next(), index_at()));
            GRADZ_TRY([[maybe_unused]] const auto done, visit(entry, offset));
            offset += entry.length;
        }
        return placed_at(check_.finish(), index_at());
    }

    Result<Done> visit(const IndexEntry& entry, std::uint64_t offset) {
        if (entry.is(RecordType::block)) {
            auto next = check_.order().next(entry.tensor, entry.chunk, check_.state());
            GRADZ_TRY(const auto place, placed_at(std::move(next), offset));
            out_.blocks.push_back({offset, entry.length, entry.tensor, entry.chunk, place.tensors, place.elements});
            return Done{};
        }
        if (!entry.is(RecordType::origin) && !entry.is(RecordType::spec) && !entry.is(RecordType::tensors))
            return placed_at(check_.record(entry.type, {}, entry.length), offset);
        GRADZ_TRY(const auto record, read_record_at(source_, offset, entry.length, buffer_));
        if (record.type != entry.type)
            return at_byte(
                {Errc::corrupt,
                 "a record of type " + std::to_string(record.type) + ", INDEX says " + std::to_string(entry.type), ""},
                offset);
        return placed_at(check_.record(record.type, record.body, record.length), offset);
    }

    ByteSource& source_;
    const Placed placed_;
    StreamCheck check_;
    IndexedStream out_;
    std::vector<std::byte> buffer_;
};

}  // namespace

Result<std::vector<IndexedStream>> read_index(ByteSource& source, std::uint64_t state_bytes) {
    const std::uint64_t size = source.size().value_or(0);
    if (size == 0) return Error{Errc::truncated, "the input is empty", ""};
    GRADZ_TRY(const auto placed, find_streams(source, size));
    StateBudget budget{state_bytes, size};
    std::vector<IndexedStream> out;
    for (const auto& p : placed) {
        GRADZ_TRY(auto stream, IndexReader(source, p, budget).read());
        out.push_back(std::move(stream));
    }
    return out;
}

Result<Record> read_record_at(ByteSource& source, std::uint64_t offset, std::uint64_t length,
                              std::vector<std::byte>& buffer) {
    const std::uint64_t size = source.size().value_or(0);
    if (offset > size || length > size - offset)
        return at_byte({Errc::truncated, "a record of " + std::to_string(length) + " bytes goes past the end", ""},
                       offset);
    if (length < kMinRecord || length > kMaxRecord)
        return at_byte({Errc::corrupt, "a record of " + std::to_string(length) + " bytes", ""}, offset);
    buffer.resize(length);
    auto done = source.read_at(offset, buffer);
    if (!done) return at_byte(done.error(), offset);
    auto record = open_record(buffer, offset);
    if (!record) return at_byte(record.error(), offset);
    return record;
}

}  // namespace gradz
