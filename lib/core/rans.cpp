#include "core/rans.hpp"

#include <htscodecs/rANS_static4x16.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/grow.hpp"

namespace gradz {
namespace {

constexpr std::size_t kFewBytes = 1000;  // up to that many the library keeps four states only

// Decoders by AVX2 of library versions before 1.6 read up to 16 bytes beyond a code, of valid ones too.
constexpr std::size_t kReadBeyond = 64;

// The first byte of a code: no size field, and how many states.
std::uint8_t form_of(std::size_t size) {
    return size <= kFewBytes ? RANS_ORDER_NOSZ : RANS_ORDER_NOSZ | RANS_ORDER_X32;
}

// The table at the head of a code: bytes ascend, and their frequencies add up to a power of two of
// at most 4096 (docs/FORMAT.md). The library takes others, too, but readers would not agree on them.
class Table {
public:
    explicit Table(std::span<const std::byte> code) : left_(code) {}

    bool is_valid() {
        int value = next(), run = 0, count = 0;
        do {
            ++count;
            if (run > 0) {
                --run, ++value;
                continue;
            }
            const int following = next();
            if (following == value + 1) run = next();
            else if (following != 0 && following <= value) return false;
            value = following;
        } while (value != 0 && value <= 255);
        if (value != 0) return false;
        int sum = 0;
        while (count-- > 0 && sum <= kSum) sum += frequency();
        return !ended_ && sum > 0 && sum <= kSum && (sum & (sum - 1)) == 0;
    }

private:
    static constexpr int kSum = 4096;

    int next() {  // 0, which ends every loop, behind the end
        ended_ = ended_ || left_.empty();
        if (left_.empty()) return 0;
        const int byte = std::to_integer<int>(left_[0]);
        left_ = left_.subspan(1);
        return byte;
    }

    // Seven bits a byte, the highest first; anything above kSum is one more.
    int frequency() {
        int value = 0, byte = 0x80;
        while (byte & 0x80) {
            byte = next();
            value = std::min(value << 7 | (byte & 0x7f), kSum + 1);
        }
        return value;
    }

    std::span<const std::byte> left_;
    bool ended_ = false;
};

// The library takes pointers to what it only reads.
unsigned char* bytes_of(std::span<const std::byte> b) {
    return const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(b.data()));
}

// A copy of `code` with zeros behind it, in a buffer of the calling thread that is valid until it asks again.
Result<std::span<const std::byte>> with_room_behind(std::span<const std::byte> code) {
    thread_local std::vector<std::byte> copy;
    const std::size_t size = code.size() + kReadBeyond;
    if (copy.size() < size) { GRADZ_TRY([[maybe_unused]] const auto* more, grow(copy, size - copy.size())); }
    std::memcpy(copy.data(), code.data(), code.size());
    std::memset(copy.data() + code.size(), 0, kReadBeyond);
    return std::span<const std::byte>(copy).first(code.size());
}

}  // namespace

Result<Done> rans_compress(std::span<const std::byte> in, std::vector<std::byte>& out) {
    assert(!in.empty() && in.size() <= std::size_t{1} << 30);
    const std::size_t before = out.size();
    auto size = static_cast<unsigned>(in.size());
    const unsigned room = rans_compress_bound_4x16(size, RANS_ORDER_NOSZ | RANS_ORDER_X32);
    const auto into = grow(out, room);
    size = room;
    if (!into ||
        !rans_compress_to_4x16(bytes_of(in), static_cast<unsigned>(in.size()), reinterpret_cast<unsigned char*>(*into),
                               &size, RANS_ORDER_NOSZ | RANS_ORDER_X32)) {
        out.resize(before);
        return Error{Errc::io, "out of memory", "rans"};
    }
    out.resize(before + size);
    return Done{};
}

Result<Done> rans_decompress(std::span<const std::byte> code, std::span<std::byte> into) {
    assert(!into.empty() && into.size() <= std::size_t{1} << 30);
    const auto corrupt = [](std::string what) { return Error{Errc::corrupt, std::move(what), "rans"}; };
    if (code.empty()) return Error{Errc::truncated, "no code", "rans"};
    const auto form = std::to_integer<std::uint8_t>(code[0]);
    const bool stored = form == (form_of(into.size()) | RANS_ORDER_CAT);
    if (!stored && form != form_of(into.size())) return corrupt("code of form " + std::to_string(form));
    if (stored && code.size() != into.size() + 1) return corrupt("stored bytes are not as many as they should be");
    auto size = static_cast<unsigned>(into.size());
    auto* const to = reinterpret_cast<unsigned char*>(into.data());
    const auto foreign = [&] { return corrupt("not the code of " + std::to_string(into.size()) + " bytes"); };
    if (code.size() > rans_compress_bound_4x16(size, RANS_ORDER_X32)) return foreign();
    if (!stored && !Table(code.subspan(1)).is_valid()) return corrupt("a table that is none");
    GRADZ_TRY(const auto padded, with_room_behind(code));
    if (!rans_uncompress_to_4x16(bytes_of(padded), static_cast<unsigned>(padded.size()), to, &size) ||
        size != into.size())
        return foreign();
    return Done{};
}

}  // namespace gradz
