// Tensors to a file. Headers may come in batches, since a stream in a pipe tells them so.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "core/error.hpp"
#include "core/origin.hpp"
#include "core/tensor.hpp"

namespace gradz::formats {

enum class Format : std::uint8_t { npy, npz, hdf5, safetensors };

// "npy", "npz", "h5", "hdf5", "safetensors"; the extension of a path without its dot works too.
Result<Format> format_of(std::string_view name);
std::string_view name_of(Format format);  // "npy", "npz", "hdf5", "safetensors": as in Origin

class TensorWriter {
public:
    virtual ~TensorWriter() = default;  // without commit() a regular file leaves nothing behind

    // More tensors, in order; before any of their elements. Errc::unsupported names a tensor
    // whose dtype the format lacks, Errc::corrupt a name that came twice.
    virtual Result<Done> add(std::span<const TensorInfo> more) = 0;

    // Elements from `first` on of tensor `index` (counted over all add() calls), little-endian
    // in its dtype, C order. Tensors in ascending order, each from 0 to its end without gaps;
    // one without elements needs no call. Whole elements only.
    virtual Result<Done> write(std::size_t index, std::uint64_t first, std::span<const std::byte> bytes) = 0;

    // All elements were written: completes the file and lets it appear.
    virtual Result<Done> commit() = 0;
};

struct WriteOptions {
    bool force = false;                             // replace a regular file
    bool asked = false;                             // -c: binary to a terminal is what the user wants
    std::filesystem::path like;                     // its mode and mtime are copied; empty: none
    std::uint64_t memory = std::uint64_t{1} << 30;  // for what must be held whole (Fortran order)
};

// path: "-" is stdout. Several tensors as npy become a folder of percent-encoded names,
// with "_step_N" and "_rank_N" behind them where tensors of several steps or workers come.
// `origin` is obeyed as far as its format matches; it is copied. When the stream's ORIGIN is
// of another format only "attribute:" and "metadata:" entries can carry over.
Result<std::unique_ptr<TensorWriter>> create_tensors(const std::filesystem::path& path, Format format,
                                                     const Origin& origin, const WriteOptions& options);

// A dump whose origin is "folder", as the folder it was: its files where they lay, each in its
// own format. Tensors that are left out leave their file incomplete, or out; one that belongs
// to no file of the origin is Errc::invalid_argument. path: absent, or with `force` an empty
// folder.
Result<std::unique_ptr<TensorWriter>> create_folder(const std::filesystem::path& path, const Origin& origin,
                                                    const WriteOptions& options);

}  // namespace gradz::formats
