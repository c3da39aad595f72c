#include "core/zstd.hpp"

#include <zstd.h>

#include <cstring>
#include <memory>

namespace gradz {
namespace {

struct Free {
    void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
    void operator()(ZSTD_DCtx* d) const { ZSTD_freeDCtx(d); }
};

}  // namespace

Result<Done> zstd_compress(std::span<const std::byte> in, int level, std::vector<std::byte>& out) {
    thread_local const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
    const std::size_t before = out.size();
    out.resize(before + ZSTD_compressBound(in.size()));
    const std::size_t size = context ? ZSTD_compressCCtx(context.get(), out.data() + before, out.size() - before,
                                                         in.data(), in.size(), level)
                                     : static_cast<std::size_t>(-1);
    if (!context || ZSTD_isError(size)) {
        out.resize(before);
        return Error{Errc::io, context ? ZSTD_getErrorName(size) : "out of memory", "zstd"};
    }
    out.resize(before + size);
    return Done{};
}

Result<Done> zstd_decompress(std::span<const std::byte> frame, std::span<std::byte> into) {
    thread_local const std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
    if (!context) return Error{Errc::io, "out of memory", "zstd"};
    // One frame only, and no skippable one, which passes for an empty one: ZSTD_decompressDCtx
    // would accept any number of both in a row.
    const std::size_t whole = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
    constexpr unsigned char kMagic[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (ZSTD_isError(whole) || whole != frame.size() || std::memcmp(frame.data(), kMagic, sizeof kMagic) != 0 ||
        ZSTD_getFrameContentSize(frame.data(), frame.size()) != into.size())
        return Error{Errc::corrupt, "not one zstd frame of " + std::to_string(into.size()) + " bytes", "zstd"};
    const std::size_t size = ZSTD_decompressDCtx(context.get(), into.data(), into.size(), frame.data(), frame.size());
    if (ZSTD_isError(size)) return Error{Errc::corrupt, ZSTD_getErrorName(size), "zstd"};
    if (size != into.size()) return Error{Errc::corrupt, "zstd frame is short", "zstd"};
    return Done{};
}

}  // namespace gradz
