#include "formats/zip_archive.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/bytes.hpp"

namespace gradz::formats {

namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr std::uint64_t kMaxComment = 0xffff;
constexpr std::uint16_t kAbsent16 = 0xffff;      // "see the zip64 record"
constexpr std::uint32_t kAbsent32 = 0xffffffff;  // "see the zip64 field"

using Bytes = std::span<const std::byte>;

template <class T>
T load(Bytes bytes, std::uint64_t at) {  // precondition: inside
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

Error corrupt(std::string what, std::string where = "") { return {Errc::corrupt, std::move(what), std::move(where)}; }
std::string member(const std::string& name) { return "member " + name; }

struct Directory {
    std::uint64_t begin, end;  // in the archive
    std::uint64_t entries;
    std::uint64_t prefix;  // bytes before the archive proper: added to every offset
};

// ---- end records -------------------------------------------------------------------

// The last end record; its comment must reach exactly to the end of the file, so that a
// file that was cut or added to is not taken for whole.
Result<std::uint64_t> find_end(Bytes zip) {
    const Error none{Errc::truncated, "no end of central directory: the archive is cut off", ""};
    if (zip.size() < kEndBytes) return none;
    const std::uint64_t last = zip.size() - kEndBytes;
    for (std::uint64_t back = 0; back <= std::min(last, kMaxComment); ++back) {
        if (load<std::uint32_t>(zip, last - back) != kEnd) continue;
        const auto comment = load<std::uint16_t>(zip, last - back + 20);
        if (comment == back) return last - back;
        return corrupt("end of central directory with a comment of " + std::to_string(comment) + " bytes, but " +
                       std::to_string(back) + " follow");
    }
    return none;
}

// What both kinds of end records say.
struct EndFields {
    std::uint64_t disk, directory_disk, entries_here, entries, size, offset;
};

EndFields read_end(Bytes zip, std::uint64_t at) {
    return {load<std::uint16_t>(zip, at + 4),  load<std::uint16_t>(zip, at + 6),  load<std::uint16_t>(zip, at + 8),
            load<std::uint16_t>(zip, at + 10), load<std::uint32_t>(zip, at + 12), load<std::uint32_t>(zip, at + 16)};
}

EndFields read_end64(Bytes zip, std::uint64_t at) {
    return {load<std::uint32_t>(zip, at + 16), load<std::uint32_t>(zip, at + 20), load<std::uint64_t>(zip, at + 24),
            load<std::uint64_t>(zip, at + 32), load<std::uint64_t>(zip, at + 40), load<std::uint64_t>(zip, at + 48)};
}

// The zip64 end record that the locator at `locator` points to; bytes before the archive
// shift it, so that the place right before the locator counts too.
Result<std::uint64_t> find_end64(Bytes zip, std::uint64_t locator) {
    const auto fits = [&](std::uint64_t at) {
        return at <= locator && locator - at >= kEnd64Bytes && load<std::uint32_t>(zip, at) == kEnd64 &&
               load<std::uint64_t>(zip, at + 4) == locator - at - 12;
    };
    const auto pointed = load<std::uint64_t>(zip, locator + 8);
    if (fits(pointed)) return pointed;
    if (locator >= kEnd64Bytes && fits(locator - kEnd64Bytes)) return locator - kEnd64Bytes;
    return corrupt("zip64 locator points to byte " + std::to_string(pointed) + ", where no zip64 end record is");
}

// A field of the small record either repeats the zip64 one or says that it is absent.
Result<EndFields> merge(const EndFields& small, const EndFields& large) {
    const auto agree16 = [](std::uint64_t s, std::uint64_t l) { return s == kAbsent16 || s == l; };
    const auto agree32 = [](std::uint64_t s, std::uint64_t l) { return s == kAbsent32 || s == l; };
    if (!agree16(small.disk, large.disk) || !agree16(small.directory_disk, large.directory_disk) ||
        !agree16(small.entries_here, large.entries_here) || !agree16(small.entries, large.entries) ||
        !agree32(small.size, large.size) || !agree32(small.offset, large.offset))
        return corrupt("end record and zip64 end record disagree");
    return large;
}

Result<Directory> find_directory(Bytes zip) {
    GRADZ_TRY(auto end, find_end(zip));
    auto fields = read_end(zip, end);
    std::uint64_t disks = 1;
    if (end >= kLocatorBytes && load<std::uint32_t>(zip, end - kLocatorBytes) == kLocator64) {
        const auto locator = end - kLocatorBytes;
        disks = load<std::uint32_t>(zip, locator + 16);
        GRADZ_TRY(end, find_end64(zip, locator));
        GRADZ_TRY(fields, merge(fields, read_end64(zip, end)));
    }
    if (disks > 1 || fields.disk != 0 || fields.directory_disk != 0 || fields.entries_here != fields.entries)
        return Error{Errc::unsupported, "zip archive in several parts", ""};
    if (fields.size > end || fields.offset > end - fields.size)
        return corrupt("central directory of " + std::to_string(fields.size) + " bytes at byte " +
                       std::to_string(fields.offset) + " does not lie before its end record at byte " +
                       std::to_string(end));
    if (fields.entries > fields.size / kCentralBytes)
        return corrupt("central directory of " + std::to_string(fields.size) + " bytes cannot hold " +
                       std::to_string(fields.entries) + " entries");
    const auto begin = end - fields.size;
    return Directory{begin, end, fields.entries, begin - fields.offset};
}

// ---- entries -----------------------------------------------------------------------

// The values that an entry's zip64 extra field holds for those of its 32-bit fields that
// are absent, in the format's order. Absent without such a field is the number itself: an
// archive without zip64 may hold a member of exactly 2^32 - 1 bytes.
Result<Done> apply_zip64(Bytes extra, std::initializer_list<std::uint64_t*> fields, const std::string& name) {
    bool seen = false;
    for (ByteReader in(extra); in.left() >= 4;) {
        GRADZ_TRY(const auto id, in.little<std::uint16_t>());
        GRADZ_TRY(const auto length, in.little<std::uint16_t>());
        if (in.left() < length) return corrupt("extra field runs past its entry", member(name));
        GRADZ_TRY(const auto body, in.bytes(length));
        if (id != 1) continue;
        if (std::exchange(seen, true)) return corrupt("two zip64 extra fields", member(name));
        ByteReader values(body);
        for (auto* field : fields) {
            if (*field != kAbsent32) continue;
            auto value = values.little<std::uint64_t>();
            if (!value) return corrupt("zip64 extra field is too short", member(name));
            *field = *value;
        }
    }
    return Done{};
}

Result<ZipMember> read_entry(ByteReader& in, std::uint64_t prefix) {
    GRADZ_TRY(const auto fixed, in.bytes(kCentralBytes));
    if (load<std::uint32_t>(fixed, 0) != kCentral) return corrupt("no entry where one is announced");
    ZipMember m;
    m.flags = load<std::uint16_t>(fixed, 8);
    m.method = load<std::uint16_t>(fixed, 10);
    m.crc = load<std::uint32_t>(fixed, 16);
    m.stored = load<std::uint32_t>(fixed, 20);
    m.size = load<std::uint32_t>(fixed, 24);
    m.header = load<std::uint32_t>(fixed, 42);
    const auto disk = load<std::uint16_t>(fixed, 34);
    GRADZ_TRY(m.name, in.text(load<std::uint16_t>(fixed, 28)));
    GRADZ_TRY(const auto extra, in.bytes(load<std::uint16_t>(fixed, 30)));
    GRADZ_TRY(const auto comment, in.bytes(load<std::uint16_t>(fixed, 32)));
    (void)comment;
    GRADZ_TRY(const auto done, apply_zip64(extra, {&m.size, &m.stored, &m.header}, m.name));
    (void)done;
    if (disk != 0 && disk != kAbsent16) return Error{Errc::unsupported, "lies in another part", member(m.name)};
    if (__builtin_add_overflow(m.header, prefix, &m.header)) return corrupt("offset past the end", member(m.name));
    return m;
}

// What the local header says of sizes and CRC must agree with the directory. Where they
// follow the data (flag bit 3) the header may leave them zero.
Result<Done> check_sizes(Bytes fixed, Bytes extra, const ZipMember& m) {
    std::uint64_t crc = load<std::uint32_t>(fixed, 14), stored = load<std::uint32_t>(fixed, 18),
                  size = load<std::uint32_t>(fixed, 22);
    GRADZ_TRY(const auto done, apply_zip64(extra, {&size, &stored}, m.name));
    (void)done;
    const bool later = m.flags & kZipDescriptor;
    const auto agrees = [&](std::uint64_t local, std::uint64_t central) {
        return local == central || (later && local == 0);
    };
    if (!agrees(crc, m.crc) || !agrees(stored, m.stored) || !agrees(size, m.size))
        return corrupt("directory and local header disagree on size or CRC", member(m.name));
    return Done{};
}

// Finds the stored bytes of `m` behind its local header. limit: where the directory begins.
Result<Done> locate(Bytes zip, std::uint64_t limit, ZipMember& m) {
    if (m.header > limit || limit - m.header < kLocalBytes)
        return corrupt("local header at byte " + std::to_string(m.header) + " lies past the members", member(m.name));
    const auto fixed = zip.subspan(m.header, kLocalBytes);
    if (load<std::uint32_t>(fixed, 0) != kLocal)
        return corrupt("no local header at byte " + std::to_string(m.header), member(m.name));
    ByteReader in(zip.subspan(m.header + kLocalBytes, limit - m.header - kLocalBytes));
    GRADZ_TRY(const auto name, in.text(load<std::uint16_t>(fixed, 26)));
    GRADZ_TRY(const auto extra, in.bytes(load<std::uint16_t>(fixed, 28)));
    if (name != m.name) return corrupt("local header has another name: " + name, member(m.name));
    if (load<std::uint16_t>(fixed, 8) != m.method)
        return corrupt("directory and local header disagree on the method", member(m.name));
    if ((load<std::uint16_t>(fixed, 6) ^ m.flags) & (kZipEncrypted | kZipDescriptor | kZipUtf8))
        return corrupt("directory and local header disagree on flags", member(m.name));
    GRADZ_TRY(const auto done, check_sizes(fixed, extra, m));
    (void)done;
    if (m.stored > in.left())
        return corrupt("declares " + std::to_string(m.stored) + " stored bytes, " + std::to_string(in.left()) +
                           " precede the directory",
                       member(m.name));
    m.data = m.header + kLocalBytes + in.at();
    return Done{};
}

// Sizes that the method cannot produce.
Result<Done> check_method(const ZipMember& m) {
    if (m.method == kZipStored && m.size != m.stored && !(m.flags & kZipEncrypted))
        return corrupt("is stored with " + std::to_string(m.stored) + " bytes, declares " + std::to_string(m.size),
                       member(m.name));
    if (m.method == kZipDeflated && m.size / kDeflateGain > m.stored)
        return corrupt("declares " + std::to_string(m.size) + " bytes, more than " + std::to_string(m.stored) +
                           " deflated bytes can hold",
                       member(m.name));
    return Done{};
}

Result<Done> check_overlap(const std::vector<ZipMember>& members) {
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return members[a].header < members[b].header; });
    for (std::size_t i = 1; i < order.size(); ++i) {
        const auto &a = members[order[i - 1]], &b = members[order[i]];
        if (a.data + a.stored > b.header) return corrupt("overlaps member " + b.name, member(a.name));
    }
    return Done{};
}

std::string_view method_name(std::uint16_t method) {
    switch (method) {
        case 1: return "shrink";
        case 6: return "implode";
        case 9: return "deflate64";
        case 12: return "bzip2";
        case 14: return "LZMA";
        case 93: return "Zstandard";
        case 95: return "XZ";
        case 98: return "PPMd";
        case 99: return "AES encryption";
        default: return "unknown";
    }
}

}  // namespace

Result<std::vector<ZipMember>> read_zip_directory(Bytes archive) {
    GRADZ_TRY(const auto directory, find_directory(archive));
    ByteReader in(archive.subspan(directory.begin, directory.end - directory.begin));
    std::vector<ZipMember> members;
    for (std::uint64_t i = 0; i < directory.entries; ++i) {
        auto entry = read_entry(in, directory.prefix);
        if (!entry) {
            if (entry.error().where.empty()) entry.error().where = "directory entry " + std::to_string(i);
            return entry.error();
        }
        GRADZ_TRY(const auto located, locate(archive, directory.begin, *entry));
        GRADZ_TRY(const auto sized, check_method(*entry));
        (void)located, (void)sized;
        members.push_back(std::move(*entry));
    }
    if (in.left() != 0) return corrupt(std::to_string(in.left()) + " bytes behind the last directory entry");
    GRADZ_TRY(const auto apart, check_overlap(members));
    (void)apart;
    return members;
}

Result<Done> check_readable(const ZipMember& m) {
    if (m.flags & kZipEncrypted) return Error{Errc::unsupported, "is encrypted", member(m.name)};
    if (m.method != kZipStored && m.method != kZipDeflated)
        return Error{Errc::unsupported,
                     "compression method " + std::to_string(m.method) + " (" + std::string(method_name(m.method)) +
                         "), want stored or deflated",
                     member(m.name)};
    return Done{};
}

}  // namespace gradz::formats
