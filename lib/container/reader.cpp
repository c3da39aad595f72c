#include "container/reader.hpp"

#include <algorithm>

namespace gradz {
namespace {

// Memory is taken in steps of this size as bytes arrive, whatever length was announced.
constexpr std::size_t kStep = std::size_t{1} << 20;

Error ends_early(std::uint64_t got, std::uint64_t want) {
    return {Errc::truncated,
            "the input ends after " + std::to_string(got) + " of at least " + std::to_string(want) + " bytes", ""};
}

}  // namespace

// Up to `count` bytes at buffer_[at]; fewer at the end of the input.
Result<std::size_t> StreamReader::fill(std::size_t at, std::size_t count) {
    std::size_t got = 0;
    while (got < count) {
        const std::size_t step = std::min(count - got, kStep), end = at + got + step;
        if (buffer_.size() < end) buffer_.resize(end);
        GRADZ_TRY(const auto n, source_.read(std::span(buffer_).subspan(at + got, step)));
        got += n;
        offset_ += n;
        if (n < step) break;
    }
    return got;
}

Result<std::optional<StreamStep>> StreamReader::next() { return inside_ ? read_record() : read_head(); }

Result<std::optional<StreamStep>> StreamReader::read_head() {
    begin_ = offset_;
    GRADZ_TRY(const auto got, fill(0, kHeadBytes));
    if (got == 0 && begin_ > 0) return std::optional<StreamStep>{};
    if (got == 0) return Error{Errc::truncated, "the input is empty", ""};
    const auto bytes = std::span<const std::byte>(buffer_).first(got);
    if (!begins_like_stream(bytes))
        return at_byte({Errc::corrupt, begin_ == 0 ? "not a gradz stream" : "what follows the stream is none", ""},
                       begin_, "head");
    if (got < kHeadBytes) return at_byte(ends_early(got, kHeadBytes), begin_, "head");
    auto head = gradz::read_head(bytes);
    if (!head) return at_byte(head.error(), begin_, "head");
    check_.start(*head);
    budget_ = StateBudget{state_bytes_};
    index_ = IndexBuilder();
    inside_ = true;
    return std::optional(StreamStep{StepKind::head});
}

// A record of which nothing is known but where it begins. Errors lack their place.
Result<Record> StreamReader::read_whole() {
    const std::uint64_t offset = offset_;
    GRADZ_TRY(const auto got, fill(0, kMinRecord));
    if (got < kMinRecord) return ends_early(got, kMinRecord);
    GRADZ_TRY(const auto start, read_record_start(std::span<const std::byte>(buffer_).first(kMinRecord)));
    GRADZ_TRY(const auto more, fill(kMinRecord, start.length - kMinRecord));
    if (kMinRecord + more < start.length) return ends_early(kMinRecord + more, start.length);
    return open_record(std::span<const std::byte>(buffer_).first(start.length), offset);
}

Result<std::optional<StreamStep>> StreamReader::read_record() {
    const std::uint64_t offset = offset_;
    auto record = read_whole();
    if (!record) return at_byte(record.error(), offset);
    budget_.input = offset_ - begin_;
    if (record->is(RecordType::index)) {
        GRADZ_TRY([[maybe_unused]] const auto done, read_end(*record));
        inside_ = false;
        return std::optional(StreamStep{StepKind::end});
    }
    auto step = apply(*record);
    if (!step) return in_body(step.error(), offset);
    index_.add({record->type, record->length, step->block.tensor, step->block.chunk});
    return std::optional(*step);
}

Result<StreamStep> StreamReader::apply(const Record& record) {
    StreamStep step{StepKind::record, record};
    if (record.is(RecordType::block)) {
        ByteReader body(record.body);
        GRADZ_TRY(step.block, read_block_head(body));
        GRADZ_TRY(step.block_elements, check_.order().next(step.block, state()));
        step.rest_at = body.at();
    } else {
        GRADZ_TRY([[maybe_unused]] const auto done, check_.record(record.type, record.body, record.length));
    }
    return step;
}

Result<Done> StreamReader::read_end(const Record& index) {
    const std::uint64_t index_at = index.offset, end_at = offset_;
    auto complete = check_.finish();
    auto match = complete ? match_index(index.body, index_) : std::move(complete);
    if (!match) return in_body(match.error(), index_at);
    GRADZ_TRY(const auto got, fill(0, kEndBytes));
    if (got < kEndBytes) return at_byte(ends_early(got, kEndBytes), end_at, "end");
    auto end = gradz::read_end(std::span<const std::byte>(buffer_).first(kEndBytes));
    if (!end) return at_byte(end.error(), end_at, "end");
    if (end->index != index_at - begin_ || end->length != offset_ - begin_)
        return at_byte({Errc::corrupt, "END differs from the stream before it", ""}, end_at, "end");
    return Done{};
}

bool is_stream(std::span<const std::byte> start) {
    return start.size() >= kHeadMagic.size() && begins_like_stream(start);
}

}  // namespace gradz
