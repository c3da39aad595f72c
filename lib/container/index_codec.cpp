#include "container/index_codec.hpp"

#include <string>

#include "container/packed.hpp"

namespace gradz {
namespace {

constexpr std::uint64_t kBaseBytes = 16, kPerByte = 4;  // contents are at most 16 + 4 x the bytes they list

}  // namespace

void IndexBuilder::add(const IndexEntry& entry) {
    ByteWriter writer(entries_);
    writer.little(entry.type);
    writer.varint(entry.length);
    ++count_;
    if (!entry.is(RecordType::block)) return;
    writer.varint(entry.tensor - tensor_);
    writer.varint(entry.chunk);
    tensor_ = entry.tensor;
}

std::vector<std::byte> IndexBuilder::contents() const {
    std::vector<std::byte> out;
    ByteWriter writer(out);
    writer.varint(count_);
    writer.bytes(entries_);
    return out;
}

Result<Done> write_index(const IndexBuilder& index, std::vector<std::byte>& body) {
    return pack(index.contents(), body);
}

Result<Done> match_index(std::span<const std::byte> body, const IndexBuilder& index) {
    const auto want = index.contents();
    GRADZ_TRY(const auto found, unpack(body, want.size()));
    if (found != want) return corrupt("INDEX differs from the records before it");
    return Done{};
}

Result<IndexParser> IndexParser::open(std::span<const std::byte> body, std::uint64_t distance) {
    IndexParser out;
    GRADZ_TRY(out.contents_, unpack(body, kBaseBytes + kPerByte * distance));
    out.distance_ = distance;
    ByteReader in(out.contents_);
    GRADZ_TRY(out.count_, in.varint());
    out.at_ = in.at();
    if (out.count_ == 0) { GRADZ_TRY([[maybe_unused]] const auto complete, out.close()); }
    return out;
}

Result<IndexEntry> IndexParser::next() {
    ByteReader in(std::span<const std::byte>(contents_).subspan(at_));
    IndexEntry entry;
    GRADZ_TRY(entry.type, in.little<std::uint8_t>());
    GRADZ_TRY(entry.length, in.varint());
    if (entry.length < kMinRecord || entry.length > kMaxRecord || entry.length > distance_)
        return corrupt("INDEX lists a record of " + std::to_string(entry.length) + " bytes where " +
                       std::to_string(distance_) + " are left");
    if (entry.is(RecordType::block)) {
        GRADZ_TRY(const auto delta, in.varint());
        if (__builtin_add_overflow(tensor_, delta, &tensor_)) return corrupt("INDEX lists a tensor beyond 2^64");
        GRADZ_TRY(entry.chunk, in.varint());
        entry.tensor = tensor_;
    }
    at_ += in.at();
    distance_ -= entry.length;
    if (--count_ == 0) { GRADZ_TRY([[maybe_unused]] const auto complete, close()); }
    return entry;
}

Result<Done> IndexParser::close() const {
    if (at_ != contents_.size())
        return corrupt(std::to_string(contents_.size() - at_) + " bytes after the last entry of INDEX");
    if (distance_ != 0) return corrupt("INDEX leaves out " + std::to_string(distance_) + " bytes of records");
    return Done{};
}

}  // namespace gradz
