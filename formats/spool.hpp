// An unlinked temporary file in TMPDIR (or /tmp): for inputs from pipes that need seeking,
// and for outputs to pipes whose writer seeks. The kernel frees it whatever happens.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "core/byte_io.hpp"
#include "core/error.hpp"
#include "formats/mapped_file.hpp"
#include "formats/posix.hpp"

namespace gradz::formats {

class Spool : public ByteSink {
public:
    static Result<std::unique_ptr<Spool>> create();

    Result<Done> write(std::span<const std::byte> bytes) override;  // appends
    Result<Done> append(ByteSource& source);                        // to the end of `source`

    // For libraries that open files themselves, to read or to write: /proc/self/fd/N, valid
    // as long as the Spool lives.
    std::filesystem::path path() const;

    // The bytes so far. The mapping outlives the Spool.
    Result<std::shared_ptr<MappedFile>> map() const;

    // All bytes that are in the file by now, from its start.
    Result<Done> copy_to(ByteSink& sink) const;

private:
    explicit Spool(Descriptor fd) : fd_(std::move(fd)) {}
    Descriptor fd_;
};

// Reads a descriptor forward. `fd` is not taken over (standard input) or is, as `own` says.
std::unique_ptr<ByteSource> read_descriptor(int fd, bool own);

}  // namespace gradz::formats
