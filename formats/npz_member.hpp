// The elements of one .npy member of an .npz archive, stored or deflated, with its CRC-32
// checked on the way.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/source.hpp"
#include "formats/mapped_file.hpp"
#include "formats/npy_header.hpp"
#include "formats/zip_archive.hpp"

namespace gradz::formats {

struct NpzMember {
    ZipMember zip;
    NpyHeader header;  // data_offset counts from the member's start
    std::uint64_t numel = 0;

    // Known to be as the CRC says. Set by whichever read saw it; shared by all sources.
    mutable std::atomic<bool> verified{false};
};

// The npy header as it stands in a member that check_readable() let pass; at least its
// announced bytes, or all of the member. `where` of an Error names the member.
Result<std::vector<std::byte>> read_npy_start(const MappedFile& file, const ZipMember& member);

// Reads the header of a member that check_readable() let pass, and checks that the elements
// fill the member exactly. `where` of an Error names the member.
Result<std::unique_ptr<NpzMember>> read_npz_member(const MappedFile& file, const ZipMember& member);

// A member stored in C order is random access without a copy; its CRC is that of the chunks
// as they are read, in any order, and the read that completes them fails with Errc::corrupt
// if it is wrong. Stored in Fortran order it is checked here. Deflated it is forward only,
// and checked by the last read; in Fortran order it is held whole, up to `memory` bytes
// (Errc::unsupported naming --memory). member must outlive the result.
Result<std::unique_ptr<ChunkSource>> open_npz_member(const std::shared_ptr<MappedFile>& file, const NpzMember& member,
                                                     std::uint64_t memory);

// The CRC of all of a stored member, if no read has seen it yet: for chunks that were left out.
Result<Done> verify_npz_member(const MappedFile& file, const NpzMember& member);

}  // namespace gradz::formats
