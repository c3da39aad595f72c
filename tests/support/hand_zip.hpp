// Zip archives by hand, every field of them open to lies.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "formats/crc32.hpp"

namespace gradz::test {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
    const auto b = std::as_bytes(std::span(text));
    return Bytes(b.begin(), b.end());
}

struct HandEntry {
    explicit HandEntry(std::string n, Bytes d) : local_name(n), name(std::move(n)), data(std::move(d)) {
        crc = formats::crc32_of(0, data);
        size = stored = local_size = local_stored = static_cast<std::uint32_t>(data.size());
        local_crc = crc;
    }
    std::string local_name, name;
    Bytes data, extra, local_extra;
    std::uint16_t flags = 0, local_flags = 0, method = 0, local_method = 0, disk = 0;
    std::uint32_t crc, size, stored, local_crc, local_size, local_stored;
    std::uint32_t moved = 0;  // added to the offset in the directory
};

struct HandZip {
    std::vector<HandEntry> entries;
    std::string prefix, comment;
    bool zip64 = false;
    int count_lie = 0, size_lie = 0, offset_lie = 0, disks = 0;
    std::uint64_t count64_lie = 0, size64_lie = 0, offset64_lie = 0, locator_lie = 0;

    Bytes print() const {
        Bytes out = bytes_of(prefix);
        ByteWriter w(out);
        std::vector<std::uint32_t> offsets;
        for (const auto& e : entries) {
            offsets.push_back(static_cast<std::uint32_t>(out.size() - prefix.size()) + e.moved);
            w.little(std::uint32_t{0x04034b50}), w.little(std::uint16_t{45}), w.little(e.local_flags);
            w.little(e.local_method), w.little(std::uint32_t{0x00210000});
            w.little(e.local_crc), w.little(e.local_stored), w.little(e.local_size);
            w.little(static_cast<std::uint16_t>(e.local_name.size()));
            w.little(static_cast<std::uint16_t>(e.local_extra.size()));
            w.text(e.local_name), w.bytes(e.local_extra), w.bytes(e.data);
        }
        const auto directory = out.size();
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const auto& e = entries[i];
            w.little(std::uint32_t{0x02014b50}), w.little(std::uint16_t{45}), w.little(std::uint16_t{45});
            w.little(e.flags), w.little(e.method), w.little(std::uint32_t{0x00210000});
            w.little(e.crc), w.little(e.stored), w.little(e.size);
            w.little(static_cast<std::uint16_t>(e.name.size())), w.little(static_cast<std::uint16_t>(e.extra.size()));
            w.little(std::uint16_t{0}), w.little(e.disk), w.little(std::uint16_t{0}), w.little(std::uint32_t{0});
            w.little(offsets[i]), w.text(e.name), w.bytes(e.extra);
        }
        print_end(out, directory);
        return out;
    }

private:
    void print_end(Bytes& out, std::size_t directory) const {
        ByteWriter w(out);
        const auto size = out.size() - directory, count = entries.size(), offset = directory - prefix.size();
        if (zip64) {
            const auto here = out.size() - prefix.size();
            w.little(std::uint32_t{0x06064b50}), w.little(std::uint64_t{44}), w.little(std::uint32_t{0x002d002d});
            w.little(std::uint32_t{0}), w.little(std::uint32_t{0});
            w.little(count + count64_lie), w.little(count + count64_lie), w.little(size + size64_lie);
            w.little(offset + offset64_lie);
            w.little(std::uint32_t{0x07064b50}), w.little(std::uint32_t{0}), w.little(here + locator_lie);
            w.little(std::uint32_t{1});
        }
        const auto c = static_cast<std::uint16_t>(static_cast<int>(count) + count_lie);
        w.little(std::uint32_t{0x06054b50}), w.little(static_cast<std::uint16_t>(disks)), w.little(std::uint16_t{0});
        w.little(zip64 ? std::uint16_t{0xffff} : c), w.little(zip64 ? std::uint16_t{0xffff} : c);
        w.little(zip64 ? ~std::uint32_t{0} : static_cast<std::uint32_t>(size) + static_cast<std::uint32_t>(size_lie));
        w.little(zip64 ? ~std::uint32_t{0}
                       : static_cast<std::uint32_t>(offset) + static_cast<std::uint32_t>(offset_lie));
        w.little(static_cast<std::uint16_t>(comment.size())), w.text(comment);
    }
};

// A zip64 extra field of these values.
inline Bytes zip64_field(std::initializer_list<std::uint64_t> values) {
    Bytes out;
    ByteWriter w(out);
    w.little(std::uint16_t{1}), w.little(static_cast<std::uint16_t>(8 * values.size()));
    for (const auto v : values) w.little(v);
    return out;
}

}  // namespace gradz::test
