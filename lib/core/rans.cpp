#include "core/rans.hpp"

#include <htscodecs/rANS_static4x16.h>

#include <cassert>
#include <cstdint>
#include <string>

#include "core/grow.hpp"

namespace gradz {
namespace {

constexpr std::size_t kFewBytes = 1000;  // up to that many the library keeps four states only

// The first byte of a code: no size field, and how many states.
std::uint8_t form_of(std::size_t size) {
    return size <= kFewBytes ? RANS_ORDER_NOSZ : RANS_ORDER_NOSZ | RANS_ORDER_X32;
}

// The library takes pointers to what it only reads.
unsigned char* bytes_of(std::span<const std::byte> b) {
    return const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(b.data()));
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
    if (code.size() > rans_compress_bound_4x16(size, RANS_ORDER_X32) ||
        !rans_uncompress_to_4x16(bytes_of(code), static_cast<unsigned>(code.size()), to, &size) || size != into.size())
        return corrupt("not the code of " + std::to_string(into.size()) + " bytes");
    return Done{};
}

}  // namespace gradz
