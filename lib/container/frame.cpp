#include "container/frame.hpp"

#include <algorithm>
#include <cstring>

#include "core/hash.hpp"

namespace gradz {
namespace {

constexpr std::size_t kHeadHash = kHeadBytes - 8, kEndHash = 16, kEndMagicAt = 24;
constexpr StreamHead kNewest;  // what this reader knows

std::string format_name(const StreamHead& head) {
    return std::to_string(head.major) + "." + std::to_string(head.minor);
}

Result<Done> check_version(const StreamHead& head) {
    if (head.major < kNewest.major)
        return Error{Errc::incompatible, "format " + format_name(head) + " is unknown to this reader", ""};
    if (head.major > kNewest.major || head.minor > kNewest.minor)
        return Error{Errc::incompatible,
                     "format " + format_name(head) + " is newer than this reader's " + format_name(kNewest), ""};
    return Done{};
}

}  // namespace

void write_head(const StreamHead& head, std::vector<std::byte>& out) {
    const std::size_t begin = out.size();
    ByteWriter writer(out);
    writer.bytes(std::as_bytes(std::span(kHeadMagic)));
    writer.little(head.major);
    writer.little(head.minor);
    writer.little(std::array<std::byte, 6>{});
    writer.little(head.required);
    writer.little(head.optional);
    writer.little(head.seed);
    writer.little(xxh3_64(std::span(out).subspan(begin)));
}

void write_end(const StreamEnd& end, std::vector<std::byte>& out) {
    const std::size_t begin = out.size();
    ByteWriter writer(out);
    writer.little(end.index);
    writer.little(end.length);
    writer.little(xxh3_64(std::span(out).subspan(begin)));
    writer.bytes(std::as_bytes(std::span(kEndMagic)));
}

bool begins_like_stream(std::span<const std::byte> bytes) {
    const auto magic = std::as_bytes(std::span(kHeadMagic)).first(std::min(bytes.size(), kHeadMagic.size()));
    return std::equal(magic.begin(), magic.end(), bytes.begin());
}

Result<StreamHead> read_head(std::span<const std::byte> bytes) {
    if (!begins_like_stream(bytes)) return corrupt("not a gradz stream");
    ByteReader in(bytes.subspan(kHeadMagic.size()));
    StreamHead head;
    GRADZ_TRY(head.major, in.little<std::uint8_t>());
    GRADZ_TRY(head.minor, in.little<std::uint8_t>());
    GRADZ_TRY(const auto zero, in.bytes(6));
    GRADZ_TRY(head.required, in.little<std::uint32_t>());
    GRADZ_TRY(head.optional, in.little<std::uint32_t>());
    GRADZ_TRY(head.seed, in.little<std::uint64_t>());
    GRADZ_TRY(const auto hash, in.little<std::uint64_t>());
    if (hash != xxh3_64(bytes.first(kHeadHash))) return corrupt("the head's checksum does not match");
    GRADZ_TRY([[maybe_unused]] const auto known, check_version(head));
    if (std::any_of(zero.begin(), zero.end(), [](std::byte b) { return b != std::byte{0}; }))
        return corrupt("reserved bytes of the head are not zero");
    if (head.required != 0)
        return Error{Errc::incompatible,
                     "required features " + std::to_string(head.required) + " are unknown to this reader", ""};
    return head;
}

Result<StreamEnd> read_end(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    StreamEnd end;
    GRADZ_TRY(end.index, in.little<std::uint64_t>());
    GRADZ_TRY(end.length, in.little<std::uint64_t>());
    GRADZ_TRY(const auto hash, in.little<std::uint64_t>());
    if (std::memcmp(bytes.data() + kEndMagicAt, kEndMagic.data(), kEndMagic.size()) != 0)
        return corrupt("no end of a stream here");
    if (hash != xxh3_64(bytes.first(kEndHash))) return corrupt("the end's checksum does not match");
    return end;
}

Result<RecordStart> read_record_start(std::span<const std::byte> start) {
    ByteReader in(start);
    RecordStart out;
    GRADZ_TRY(out.type, in.little<std::uint8_t>());
    const auto body = in.varint();
    if (!body && body.error().code != Errc::truncated) return body.error();
    // A length that goes on past kMinRecord bytes is beyond 2^56.
    if (!body || *body > kMaxBody)
        return corrupt("a record of " + (body ? std::to_string(*body) : "2^56 or more") + " bytes, at most " +
                       std::to_string(kMaxBody) + " are allowed");
    out.body_at = in.at();
    out.length = out.body_at + *body + 8;
    return out;
}

Result<Record> open_record(std::span<const std::byte> whole, std::uint64_t offset) {
    if (whole.size() < kMinRecord) return corrupt("a record of " + std::to_string(whole.size()) + " bytes");
    GRADZ_TRY(const auto start, read_record_start(whole.first(kMinRecord)));
    if (start.length != whole.size())
        return corrupt("a record of " + std::to_string(start.length) + " bytes, " + std::to_string(whole.size()) +
                       " announced");
    const auto hashed = whole.first(whole.size() - 8);
    GRADZ_TRY(const auto hash, ByteReader(whole.last(8)).little<std::uint64_t>());
    if (hash != xxh3_64(hashed)) return corrupt("the record's checksum does not match");
    return Record{start.type, offset, whole.size(), hashed.subspan(start.body_at), whole};
}

Error at_byte(Error error, std::uint64_t offset, const char* part) {
    if (!error.where.empty()) error.where += " < ";
    error.where += part + std::string(" at byte ") + std::to_string(offset);
    return error;
}

Error in_body(Error error, std::uint64_t offset) {
    if (error.code == Errc::truncated) error.code = Errc::corrupt;
    return at_byte(std::move(error), offset);
}

}  // namespace gradz
