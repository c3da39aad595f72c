// A file in memory. Whoever reads mapped bytes must survive a file that shrinks meanwhile.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "core/error.hpp"

namespace gradz::formats {

class MappedFile {
public:
    virtual ~MappedFile() = default;

    virtual std::span<const std::byte> bytes() const = 0;

    // `size` bytes from `offset` are used up: windows of 16 MiB whose bytes were all released
    // are given back to the kernel, so that a mapped GiB does not count as a GiB of memory.
    // Errc::io "file shrank while being read" once a page of this mapping was missing.
    // Thread-safe.
    virtual Result<Done> release(std::uint64_t offset, std::uint64_t size) = 0;

    // Errc::io if size or mtime are not those of open(), or a page was missing.
    virtual Result<Done> unchanged() const = 0;
};

// Read-only and private. Errc::io if it cannot be opened, Errc::unsupported for what is no
// regular file. An empty file has no bytes and no mapping.
Result<std::shared_ptr<MappedFile>> map_file(const std::filesystem::path& path);

// Of a file that is open already (an unlinked temporary); the descriptor is taken over.
Result<std::shared_ptr<MappedFile>> map_descriptor(int fd);

// Called once by the command line: on SIGBUS inside a registered mapping a zero page is
// mapped over the hole and the mapping's flag set; elsewhere the signal takes its course.
void install_sigbus_handler();

}  // namespace gradz::formats
