// A deflated zip member, inflated from its start on as it is read, and checked at its end.
#pragma once

#include <memory>

#include "core/byte_io.hpp"
#include "formats/zip_archive.hpp"

namespace gradz::formats {

class InflateStream final : public ByteSource {
public:
    // stored: the member's bytes in the archive; they outlive this. Precondition: the method
    // is kZipDeflated and check_readable() holds.
    InflateStream(std::span<const std::byte> stored, const ZipMember& member);
    ~InflateStream() override;

    // Fewer bytes than asked for only at the end. The read that takes the last byte, or an
    // empty one there, fails with Errc::corrupt if the stream goes on, bytes follow it, or
    // the CRC is another; Errc::truncated if it ends before the declared size.
    Result<std::size_t> read(std::span<std::byte> into) override;

    std::uint64_t left() const { return left_; }  // bytes until the declared size
    std::uint64_t consumed() const;               // stored bytes that were used
    std::optional<std::uint64_t> size() const override { return std::nullopt; }
    Result<Done> read_at(std::uint64_t offset, std::span<std::byte> into) override;

private:
    struct State;

    Result<Done> fill(std::span<std::byte> into);
    Result<Done> check_end();

    std::unique_ptr<State> state_;  // zlib keeps a pointer into it
    std::uint64_t left_;
    std::uint32_t crc_ = 0, want_crc_;
    bool checked_ = false;
};

}  // namespace gradz::formats
