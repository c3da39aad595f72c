#include "core/zstd.hpp"

#define ZSTD_STATIC_LINKING_ONLY  // for the name of ZSTD_c_literalCompressionMode; no function beyond the stable ones
#include <zstd.h>

#include <cstring>
#include <memory>

#include "core/grow.hpp"

namespace gradz {
namespace {

struct Free {
    void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
    void operator()(ZSTD_DCtx* d) const { ZSTD_freeDCtx(d); }
};

// The fastest strategy with steps longer than a block, so that only literals are left, which it would not
// code by itself then. False where this library does not know such parameters.
bool set_literals(ZSTD_CCtx* context) {
    const auto set = [&](ZSTD_cParameter parameter, int value) {
        return !ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value));
    };
    return set(ZSTD_c_compressionLevel, 1) && set(ZSTD_c_strategy, ZSTD_fast) &&
           set(ZSTD_c_targetLength, ZSTD_TARGETLENGTH_MAX) && set(ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
}

// compress(context, into, room) as libzstd's functions return.
template <class Compress>
Result<Done> append(std::span<const std::byte> in, std::vector<std::byte>& out, ZSTD_CCtx* context, Compress compress) {
    const std::size_t before = out.size(), room = ZSTD_compressBound(in.size());
    const auto into = grow(out, room);
    if (!context || !into) {
        out.resize(before);
        return Error{Errc::io, "out of memory", "zstd"};
    }
    const std::size_t size = compress(context, *into, room);
    out.resize(before + (ZSTD_isError(size) ? 0 : size));
    if (ZSTD_isError(size)) return Error{Errc::io, ZSTD_getErrorName(size), "zstd"};
    return Done{};
}

}  // namespace

Result<Done> zstd_compress(std::span<const std::byte> in, int level, std::vector<std::byte>& out) {
    thread_local const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
    return append(in, out, context.get(), [&](ZSTD_CCtx* c, std::byte* into, std::size_t room) {
        return ZSTD_compressCCtx(c, into, room, in.data(), in.size(), level);
    });
}

Result<Done> zstd_compress_literals(std::span<const std::byte> in, std::vector<std::byte>& out) {
    thread_local const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
    thread_local const bool is_set = context && set_literals(context.get());
    if (context && !is_set) return zstd_compress(in, kZstdMinLevel, out);
    return append(in, out, context.get(), [&](ZSTD_CCtx* c, std::byte* into, std::size_t room) {
        return ZSTD_compress2(c, into, room, in.data(), in.size());
    });
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
