// Where a command writes: a file that appears whole or not at all, or a pipe or device.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "core/byte_io.hpp"
#include "core/error.hpp"

namespace gradz::formats {

class Output : public ByteSink {
public:
    // Overwrites bytes that were written before. Precondition: seekable().
    virtual Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    virtual bool seekable() const = 0;  // a regular file

    // Where a library that opens files itself (HDF5) may write before commit(): the temporary
    // file. Empty unless seekable().
    virtual std::filesystem::path staging() const = 0;

    // Copies mode and mtime of `like` to the output at commit(), where both are regular files.
    virtual void copy_times(const std::filesystem::path& like) = 0;

    // The file is to appear as `path` instead, which is absent and on the same file system.
    // Precondition: seekable().
    virtual void redirect(const std::filesystem::path& path) = 0;

    // fsync and rename, where the target was absent or a regular file (a symlink's target).
    // Devices, FIFOs, /dev/fd/N and stdout were written in place and are only flushed.
    virtual Result<Done> commit() = 0;
};

// "-" is stdout. Errc::exists if a regular file is there and `force` is false;
// Errc::invalid_argument if the output is a terminal and neither `force` nor `asked` (an
// explicit -c) is set: streams are binary. The temporary file is made with mode 0600 beside
// the target and widened to the umask at commit(); it is removed when the Output dies, and
// by remove_temporaries().
Result<std::unique_ptr<Output>> create(const std::filesystem::path& path, bool force, bool asked = false);

// Async-signal-safe: unlinks every temporary that is not committed yet. The command line
// calls it on SIGINT, SIGTERM and SIGHUP before it re-raises the signal.
void remove_temporaries();

}  // namespace gradz::formats
