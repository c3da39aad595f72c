#include "formats/npz_member.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "formats/crc32.hpp"
#include "formats/inflate_stream.hpp"
#include "formats/npy_elements.hpp"

namespace gradz::formats {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kStep = std::uint64_t{1} << 20;  // of reading whole members
constexpr std::size_t kHeaderStart = 12;                 // what npy_header_size() looks at

Bytes stored_bytes(const MappedFile& file, const ZipMember& member) {
    return file.bytes().subspan(member.data, member.stored);
}

std::string where_of(const ZipMember& member) { return "member " + member.name; }

Error in_member(Error error, const ZipMember& member) {
    error.where += (error.where.empty() ? "" : " < ") + where_of(member);
    return error;
}

Error bad_crc(const ZipMember& member) { return {Errc::corrupt, "CRC does not match the data", where_of(member)}; }

bool in_fortran_order(const NpyHeader& header) { return header.fortran && header.shape.size() > 1; }

// Appends `size` bytes of the member, or those that are left; at its end it is checked.
// Memory grows with what is really there.
Result<Done> inflate_some(InflateStream& stream, std::uint64_t size, std::vector<std::byte>& out) {
    do {
        const auto at = out.size();
        out.resize(at + std::min(size, kStep));
        GRADZ_TRY(const auto got, stream.read(std::span(out).subspan(at)));
        out.resize(at + got);
        size -= got;
    } while (size > 0 && stream.left() > 0);
    return Done{};
}

Result<std::vector<std::byte>> first_bytes(Bytes stored) {
    GRADZ_TRY(const auto size, npy_header_size(stored.first(std::min(stored.size(), kHeaderStart))));
    const auto start = stored.first(std::min<std::uint64_t>(stored.size(), size));
    return std::vector<std::byte>(start.begin(), start.end());
}

Result<std::vector<std::byte>> inflate_start(Bytes stored, const ZipMember& member) {
    InflateStream stream(stored, member);
    std::vector<std::byte> start;
    GRADZ_TRY([[maybe_unused]] const auto first, inflate_some(stream, kHeaderStart, start));
    GRADZ_TRY(const auto size, npy_header_size(start));
    if (size > start.size()) {
        GRADZ_TRY([[maybe_unused]] const auto rest, inflate_some(stream, size - start.size(), start));
    }
    return start;
}

// Adds up the CRC from the chunks, wherever they lie. A chunk that is read twice spoils the
// sum, so a wrong one is only a reason to look at all bytes in order.
class StoredElements final : public ChunkSource {
public:
    StoredElements(std::shared_ptr<MappedFile> file, const NpzMember& member)
        : file_(std::move(file)),
          member_(member),
          inner_(map_elements(file_, member.zip.data + member.header.data_offset, member.header)) {
        add(0, member.header.data_offset);
    }

    Access access() const override { return Access::random; }

    Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>& buffer) override {
        const auto size = size_of(member_.header.dtype);
        if (!member_.verified && add(member_.header.data_offset + chunk.first * size, chunk.count * size)) {
            if (sum_ == member_.zip.crc) member_.verified = true;
            GRADZ_TRY([[maybe_unused]] const auto sound, verify_npz_member(*file_, member_));
        }
        return inner_->read(chunk, buffer);
    }

    Result<Done> release(Chunk chunk) override { return inner_->release(chunk); }

private:
    // Bytes [at, at + size) of the member; true once as many were added as it has. The sum
    // is complete by then, since every worker adds to it first.
    bool add(std::uint64_t at, std::uint64_t size) {
        const auto bytes = stored_bytes(*file_, member_.zip).subspan(at, size);
        sum_ ^= crc32_contribution(crc32_of(0, bytes), member_.zip.size - at - size);
        return (added_ += size) == member_.zip.size;
    }

    std::shared_ptr<MappedFile> file_;
    const NpzMember& member_;
    std::unique_ptr<ChunkSource> inner_;
    std::atomic<std::uint32_t> sum_{0};
    std::atomic<std::uint64_t> added_{0};
};

class InflatedElements final : public ChunkSource {
public:
    InflatedElements(std::shared_ptr<MappedFile> file, const NpzMember& member)
        : file_(std::move(file)), member_(member), stream_(stored_bytes(*file_, member.zip), member.zip) {}

    // Up to the first element; the whole member if it has none.
    Result<Done> skip_header() {
        std::vector<std::byte> header;
        auto skipped = inflate_some(stream_, member_.header.data_offset, header);
        if (!skipped) return in_member(std::move(skipped.error()), member_.zip);
        return Done{};
    }

    Access access() const override { return Access::forward; }

    Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>& buffer) override {
        assert(chunk.first == next_);
        next_ += chunk.count;
        const auto size = chunk.count * size_of(member_.header.dtype);
        if (buffer.size() < size) buffer.resize(size);
        const auto out = std::span(buffer).first(size);
        auto got = stream_.read(out);
        if (!got) return in_member(std::move(got.error()), member_.zip);
        if (member_.header.big_endian) swap_words(out, row_of(member_.header.dtype).word);
        // Here and not in release(), which several workers call at once.
        const auto used = stream_.consumed();
        GRADZ_TRY([[maybe_unused]] const auto released, file_->release(member_.zip.data + released_, used - released_));
        released_ = used;
        return std::span<const std::byte>(out);
    }

private:
    std::shared_ptr<MappedFile> file_;
    const NpzMember& member_;
    InflateStream stream_;
    std::uint64_t next_ = 0, released_ = 0;  // element; byte of the stored ones
};

// A member in Fortran order that was inflated whole: its first row needs its last column.
class HeldElements final : public ChunkSource {
public:
    explicit HeldElements(const NpzMember& member) : member_(member) {}

    Result<Done> inflate(const MappedFile& file) {
        InflateStream stream(stored_bytes(file, member_.zip), member_.zip);
        auto whole = inflate_some(stream, member_.zip.size, bytes_);
        if (!whole) return in_member(std::move(whole.error()), member_.zip);
        return Done{};
    }

    Access access() const override { return Access::random; }

    Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>& buffer) override {
        const auto& header = member_.header;
        const auto size = size_of(header.dtype);
        if (buffer.size() < chunk.count * size) buffer.resize(chunk.count * size);
        const auto out = std::span(buffer).first(chunk.count * size);
        gather_fortran(header.shape, size, bytes_.data() + header.data_offset, chunk, out.data());
        if (header.big_endian) swap_words(out, row_of(header.dtype).word);
        return std::span<const std::byte>(out);
    }

private:
    const NpzMember& member_;
    std::vector<std::byte> bytes_;  // of the member, header included
};

Result<std::unique_ptr<ChunkSource>> open_deflated(const std::shared_ptr<MappedFile>& file, const NpzMember& member,
                                                   std::uint64_t memory) {
    if (!in_fortran_order(member.header)) {
        auto source = std::make_unique<InflatedElements>(file, member);
        GRADZ_TRY([[maybe_unused]] const auto skipped, source->skip_header());
        return std::unique_ptr<ChunkSource>(std::move(source));
    }
    if (member.zip.size > memory)
        return Error{Errc::unsupported,
                     "deflated in Fortran order: " + std::to_string(member.zip.size) +
                         " bytes must be held, more than --memory " + std::to_string(memory),
                     where_of(member.zip)};
    auto source = std::make_unique<HeldElements>(member);
    GRADZ_TRY([[maybe_unused]] const auto inflated, source->inflate(*file));
    return std::unique_ptr<ChunkSource>(std::move(source));
}

}  // namespace

Result<std::vector<std::byte>> read_npy_start(const MappedFile& file, const ZipMember& member) {
    const auto stored = stored_bytes(file, member);
    auto start = member.method == kZipDeflated ? inflate_start(stored, member) : first_bytes(stored);
    if (!start) return in_member(std::move(start.error()), member);
    return start;
}

Result<std::unique_ptr<NpzMember>> read_npz_member(const MappedFile& file, const ZipMember& member) {
    auto out = std::make_unique<NpzMember>();
    out->zip = member;
    GRADZ_TRY(const auto start, read_npy_start(file, member));
    auto header = parse_npy_header(start);
    if (!header) return in_member(std::move(header.error()), member);
    out->header = std::move(*header);
    const TensorInfo info{"", out->header.shape, out->header.dtype};
    GRADZ_TRY(out->numel, info.numel());  // parse_npy_header() has checked it
    const auto want = out->header.data_offset + out->numel * size_of(info.dtype);
    if (member.size != want)
        return Error{member.size < want ? Errc::truncated : Errc::corrupt,
                     "member of " + std::to_string(member.size) + " bytes, its shape wants " + std::to_string(want),
                     where_of(member)};
    return out;
}

Result<std::unique_ptr<ChunkSource>> open_npz_member(const std::shared_ptr<MappedFile>& file, const NpzMember& member,
                                                     std::uint64_t memory) {
    if (member.zip.method == kZipDeflated) return open_deflated(file, member, memory);
    if (in_fortran_order(member.header) || member.numel == 0) {
        GRADZ_TRY([[maybe_unused]] const auto sound, verify_npz_member(*file, member));
    }
    return std::unique_ptr<ChunkSource>(std::make_unique<StoredElements>(file, member));
}

Result<Done> verify_npz_member(const MappedFile& file, const NpzMember& member) {
    if (member.verified || member.zip.method != kZipStored) return Done{};
    if (crc32_of(0, stored_bytes(file, member.zip)) != member.zip.crc) return bad_crc(member.zip);
    member.verified = true;
    return Done{};
}

}  // namespace gradz::formats
