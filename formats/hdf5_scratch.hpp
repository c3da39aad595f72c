// Files without a name, for libhdf5, which opens files by name only and does not take
// /proc/self/fd/N of an unlinked one.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "core/byte_io.hpp"
#include "formats/hdf5_handle.hpp"
#include "formats/posix.hpp"
#include "formats/temporaries.hpp"

namespace gradz::formats {

// A temporary file in TMPDIR (or /tmp). Its name goes at unlink() or a signal; the bytes stay
// until the object dies.
class Hdf5Scratch {
public:
    static Result<Hdf5Scratch> create();

    const std::filesystem::path& name() const { return name_->path(); }  // until unlink()
    void unlink() { name_.reset(); }

    std::filesystem::path path() const;  // for others than libhdf5, at any time
    Result<Done> write(std::span<const std::byte> bytes);
    Result<Done> copy_to(ByteSink& sink) const;  // all bytes

private:
    explicit Hdf5Scratch(Temporary name) : name_(std::move(name)) {}

    std::optional<Temporary> name_;
    Descriptor fd_;
};

// Whether libhdf5 could not open `path`: a descriptor of a file that has no name any more.
bool is_nameless(const std::filesystem::path& path);

// Opens such a file to read. bytes: all of it, copied where the file system gives no second
// name to a file. Invalid as H5Fopen says.
Result<Hid> open_nameless(const std::filesystem::path& path, std::span<const std::byte> bytes, hid_t access);

}  // namespace gradz::formats
