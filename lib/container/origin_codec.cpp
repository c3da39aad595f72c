#include "container/origin_codec.hpp"

#include <algorithm>
#include <string>

#include "container/packed.hpp"
#include "container/record.hpp"
#include "core/bytes.hpp"

namespace gradz {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 24;
// Contents that no compression shortens must fit as well, and zstd adds up to 1/256.
constexpr std::size_t kMostContents = kMaxBody - kMaxBody / 128;

std::size_t shared_bytes(const std::string& a, const std::string& b) {
    const std::size_t most = std::min(a.size(), b.size());
    return static_cast<std::size_t>(
        std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin()).first - a.begin());
}

void write_entry(const OriginEntry& entry, const std::string& previous, std::vector<std::byte>& contents) {
    ByteWriter writer(contents);
    const std::size_t shared = shared_bytes(previous, entry.object);
    writer.varint(shared);
    writer.varint(entry.object.size() - shared);
    writer.text(std::string_view(entry.object).substr(shared));
    for (const std::string* text : {&entry.key, &entry.value}) {
        writer.varint(text->size());
        writer.text(*text);
    }
}

Result<std::span<const std::byte>> sized_bytes(ByteReader& in) {
    GRADZ_TRY(const auto size, in.varint());
    return in.bytes(size);
}

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<OriginEntry> read_entry(ByteReader& in, std::string_view previous, StateBudget& budget) {
    GRADZ_TRY(const auto shared, in.varint());
    if (shared > previous.size())
        return Error{Errc::corrupt,
                     std::to_string(shared) + " bytes shared with a name of " + std::to_string(previous.size()), ""};
    GRADZ_TRY(const auto rest, sized_bytes(in));
    GRADZ_TRY(const auto key, sized_bytes(in));
    GRADZ_TRY(const auto value, sized_bytes(in));
    GRADZ_TRY([[maybe_unused]] const auto fits, budget.spend(cost_of(shared + rest.size(), key.size(), value.size())));
    OriginEntry entry;
    entry.object = previous.substr(0, shared);
    entry.object += text_of(rest);
    entry.key = text_of(key);
    entry.value = text_of(value);
    return entry;
}

}  // namespace

Result<std::size_t> write_origin(std::span<const OriginEntry> entries, std::vector<std::byte>& body) {
    std::vector<std::byte> contents;
    std::size_t count = 0;
    for (const std::string* previous = nullptr; count < entries.size(); ++count) {
        const OriginEntry& entry = entries[count];
        const std::size_t before = contents.size(), most = count == 0 ? kMostContents : kPiece;
        const std::size_t text = entry.object.size() + entry.key.size() + entry.value.size();
        if (text < kMostContents) write_entry(entry, previous ? *previous : std::string(), contents);
        if (text >= kMostContents || contents.size() > most) {
            if (count == 0)
                return Error{Errc::unsupported,
                             "\"" + entry.key + "\" takes " + std::to_string(text) + " bytes, at most " +
                                 std::to_string(kMostContents) + " fit",
                             entry.object};
            contents.resize(before);
            break;
        }
        previous = &entry.object;
    }
    GRADZ_TRY([[maybe_unused]] const auto done, pack(contents, body));
    return count;
}

Result<Done> read_origin(std::span<const std::byte> body, StateBudget& budget, Origin& origin) {
    GRADZ_TRY(const auto contents, unpack(body, kMaxBody));
    ByteReader in(contents);
    for (bool first = true; in.left() > 0; first = false) {
        // `previous` is of this record only: every record can be read alone.
        const std::string_view previous = first ? std::string_view() : origin.entries.back().object;
        GRADZ_TRY(auto entry, read_entry(in, previous, budget));
        origin.entries.push_back(std::move(entry));
    }
    return Done{};
}

}  // namespace gradz
