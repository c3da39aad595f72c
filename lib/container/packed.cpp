#include "container/packed.hpp"

#include <string>

#include "core/bytes.hpp"
#include "core/zstd.hpp"

namespace gradz {
namespace {

constexpr int kLevel = 9;
// A zstd block gives at most 2^17 bytes and takes at least four.
constexpr int kMostPerByteLog2 = 15;

}  // namespace

Result<Done> pack(std::span<const std::byte> contents, std::vector<std::byte>& body) {
    ByteWriter(body).varint(contents.size());
    return zstd_compress(contents, kLevel, body);
}

Result<std::vector<std::byte>> unpack(std::span<const std::byte> body, std::uint64_t most) {
    ByteReader in(body);
    GRADZ_TRY(const auto size, in.varint());
    GRADZ_TRY(const auto frame, in.bytes(in.left()));
    if (size > most)
        return Error{Errc::corrupt,
                     "contents of " + std::to_string(size) + " bytes, at most " + std::to_string(most) + " are allowed",
                     ""};
    if (size > (static_cast<std::uint64_t>(frame.size()) << kMostPerByteLog2))
        return Error{Errc::corrupt,
                     std::to_string(size) + " bytes cannot come from a zstd frame of " + std::to_string(frame.size()),
                     ""};
    std::vector<std::byte> contents(size);
    GRADZ_TRY([[maybe_unused]] const auto done, zstd_decompress(frame, contents));
    return contents;
}

}  // namespace gradz
