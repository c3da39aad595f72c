#include "formats/zip_writer.hpp"

#include <zlib.h>

#include <algorithm>

#include "core/bytes.hpp"
#include "core/utf8.hpp"
#include "formats/crc32.hpp"

namespace gradz::formats {

namespace {

constexpr std::uint16_t kVersion = 45;                      // zip64
constexpr std::uint16_t kMadeBy = 3 << 8 | kVersion;        // on Unix
constexpr std::uint16_t kTime = 0, kDate = 1 << 5 | 1;      // 1980-01-01 00:00
constexpr std::uint32_t kMode = std::uint32_t{0600} << 16;  // rw for the owner
constexpr std::uint64_t kMax16 = 0xffff, kMax31 = 0x7fffffff, kMax32 = 0xffffffff;
constexpr std::size_t kBuffer = std::size_t{1} << 16;
constexpr int kMemoryLevel = 8;  // zlib's default, which has no public name

using Buffer = std::vector<std::byte>;

std::uint32_t capped(std::uint64_t value) { return static_cast<std::uint32_t>(value > kMax31 ? kMax32 : value); }

Buffer local_header(const ZipMember& m) {
    const bool later = m.flags & kZipDescriptor;  // then the header keeps zeros for good
    Buffer out;
    ByteWriter w(out);
    w.little(std::uint32_t{0x04034b50});
    w.little(kVersion), w.little(m.flags), w.little(m.method), w.little(kTime), w.little(kDate);
    w.little(later ? std::uint32_t{0} : m.crc);
    w.little(std::uint32_t{kMax32}), w.little(std::uint32_t{kMax32});
    w.little(static_cast<std::uint16_t>(m.name.size())), w.little(std::uint16_t{20});
    w.text(m.name);
    w.little(std::uint16_t{1}), w.little(std::uint16_t{16});  // zip64 field
    w.little(later ? 0 : m.size), w.little(later ? 0 : m.stored);
    return out;
}

Buffer descriptor(const ZipMember& m) {
    Buffer out;
    ByteWriter w(out);
    w.little(std::uint32_t{0x08074b50});
    w.little(m.crc), w.little(m.stored), w.little(m.size);
    return out;
}

void append_entry(const ZipMember& m, Buffer& out) {
    Buffer extra;  // what does not fit the fixed fields, in the format's order
    ByteWriter e(extra);
    if (m.size > kMax31 || m.stored > kMax31) e.little(m.size), e.little(m.stored);
    if (m.header > kMax31) e.little(m.header);
    const bool large = m.size > kMax31 || m.stored > kMax31;
    ByteWriter w(out);
    w.little(std::uint32_t{0x02014b50});
    w.little(kMadeBy), w.little(kVersion), w.little(m.flags), w.little(m.method), w.little(kTime), w.little(kDate);
    w.little(m.crc);
    w.little(large ? std::uint32_t{kMax32} : capped(m.stored)),
        w.little(large ? std::uint32_t{kMax32} : capped(m.size));
    w.little(static_cast<std::uint16_t>(m.name.size()));
    w.little(static_cast<std::uint16_t>(extra.empty() ? 0 : extra.size() + 4));
    w.little(std::uint16_t{0}), w.little(std::uint16_t{0}), w.little(std::uint16_t{0});  // comment, disk, attributes
    w.little(kMode), w.little(capped(m.header));
    w.text(m.name);
    if (!extra.empty()) w.little(std::uint16_t{1}), w.little(static_cast<std::uint16_t>(extra.size())), w.bytes(extra);
}

// The end records of a directory of `entries` entries and `size` bytes at byte `offset`.
Buffer end_records(std::uint64_t entries, std::uint64_t size, std::uint64_t offset) {
    Buffer out;
    ByteWriter w(out);
    if (entries > kMax16 || size > kMax31 || offset > kMax31) {
        w.little(std::uint32_t{0x06064b50}), w.little(std::uint64_t{44}), w.little(kVersion), w.little(kVersion);
        w.little(std::uint32_t{0}), w.little(std::uint32_t{0});
        w.little(entries), w.little(entries), w.little(size), w.little(offset);
        w.little(std::uint32_t{0x07064b50}), w.little(std::uint32_t{0}), w.little(offset + size);
        w.little(std::uint32_t{1});
    }
    const auto count = static_cast<std::uint16_t>(std::min(entries, kMax16));
    w.little(std::uint32_t{0x06054b50}), w.little(std::uint16_t{0}), w.little(std::uint16_t{0});
    w.little(count), w.little(count);
    w.little(static_cast<std::uint32_t>(std::min(size, kMax32)));
    w.little(static_cast<std::uint32_t>(std::min(offset, kMax32)));
    w.little(std::uint16_t{0});
    return out;
}

}  // namespace

struct ZipWriter::Deflater {
    Deflater() {
        ready =
            deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    ~Deflater() { deflateEnd(&z); }
    Deflater(const Deflater&) = delete;

    z_stream z{};
    bool ready = false;
    Buffer buffer = Buffer(kBuffer);
};

ZipWriter::ZipWriter(Output& output) : output_(output) {}
ZipWriter::~ZipWriter() = default;

Result<Done> ZipWriter::put(std::span<const std::byte> bytes) {
    at_ += bytes.size();
    return output_.write(bytes);
}

Result<Done> ZipWriter::begin(const std::string& name, std::uint16_t method) {
    if (name.size() > kMaxZipName)
        return Error{Errc::unsupported,
                     "name of " + std::to_string(name.size()) + " bytes, zip holds " + std::to_string(kMaxZipName), ""};
    ZipMember m;
    m.name = name;
    m.method = method;
    m.header = at_;
    if (!output_.seekable()) m.flags |= kZipDescriptor;
    if (!is_ascii(name) && is_utf8(name)) m.flags |= kZipUtf8;
    if (method == kZipDeflated) {
        if (!deflater_) deflater_ = std::make_unique<Deflater>();
        if (!deflater_->ready || deflateReset(&deflater_->z) != Z_OK) return Error{Errc::io, "out of memory", ""};
    }
    members_.push_back(std::move(m));
    return put(local_header(members_.back()));
}

Result<Done> ZipWriter::write(std::span<const std::byte> bytes) {
    auto& m = members_.back();
    m.size += bytes.size();
    m.crc = crc32_of(m.crc, bytes);
    if (m.method == kZipDeflated) return deflate_all(bytes, false);
    m.stored += bytes.size();
    return put(bytes);
}

Result<Done> ZipWriter::deflate_all(std::span<const std::byte> bytes, bool last) {
    auto& z = deflater_->z;
    auto& buffer = deflater_->buffer;
    do {
        const auto take = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);  // zlib counts in 32 bits
        z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
        z.avail_in = static_cast<uInt>(take);
        z.next_out = reinterpret_cast<Bytef*>(buffer.data());
        z.avail_out = static_cast<uInt>(buffer.size());
        const int status = deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
        if (status == Z_STREAM_ERROR) return Error{Errc::io, "deflate failed", ""};
        bytes = bytes.subspan(take - z.avail_in);
        const auto made = buffer.size() - z.avail_out;
        members_.back().stored += made;
        GRADZ_TRY([[maybe_unused]] const auto written, put(std::span(buffer).first(made)));
    } while (!bytes.empty() || z.avail_out == 0);
    return Done{};
}

Result<Done> ZipWriter::end() {
    auto& m = members_.back();
    if (m.method == kZipDeflated) { GRADZ_TRY([[maybe_unused]] const auto flushed, deflate_all({}, true)); }
    return m.flags & kZipDescriptor ? put(descriptor(m)) : output_.write_at(m.header, local_header(m));
}

Result<Done> ZipWriter::finish() {
    const auto offset = at_;
    Buffer entries;
    for (const auto& m : members_) {
        append_entry(m, entries);
        if (entries.size() < kBuffer) continue;
        GRADZ_TRY([[maybe_unused]] const auto written, put(entries));
        entries.clear();
    }
    GRADZ_TRY([[maybe_unused]] const auto written, put(entries));
    return put(end_records(members_.size(), at_ - offset, offset));
}

}  // namespace gradz::formats
