// The readers and writers behind open_tensors() and create_tensors(), one pair per layout.
// A new layout is one pair of functions here and a line in open.cpp and create.cpp.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/byte_io.hpp"
#include "core/origin.hpp"
#include "formats/mapped_file.hpp"
#include "formats/output_file.hpp"
#include "formats/tensor_reader.hpp"
#include "formats/tensor_writer.hpp"

namespace gradz::formats {

// What a file's own name says about its tensors (names.hpp reads it). Under
// ReadOptions::name the stem is that name, and step and worker are not known.
struct FileIdentity {
    std::string display;                        // for people: "run/step_10.npy", "stdin"
    std::string stem;                           // without extension, step and rank patterns; may be empty
    std::optional<std::uint64_t> step, worker;  // of the file's name, or of the folders around it
};

// Each refuses what is damaged as open_tensors() says. The file stays mapped as long as the
// reader lives. Tensor names are the layout's own, without any prefix; step and worker come
// from place_tensor() in names.hpp.
Result<std::unique_ptr<TensorReader>> open_npy(std::shared_ptr<MappedFile> file, const FileIdentity& identity,
                                               const ReadOptions& options);
Result<std::unique_ptr<TensorReader>> open_npz(std::shared_ptr<MappedFile> file, const FileIdentity& identity,
                                               const ReadOptions& options);
Result<std::unique_ptr<TensorReader>> open_safetensors(std::shared_ptr<MappedFile> file, const FileIdentity& identity,
                                                       const ReadOptions& options);

// options.raw has a value; the file's size must be that of the layout.
Result<std::unique_ptr<TensorReader>> open_raw(std::shared_ptr<MappedFile> file, const FileIdentity& identity,
                                               const ReadOptions& options);

// path: may be one of /proc/self/fd that is closed after this call returns (a spooled pipe),
// so the file is opened here, once.
Result<std::unique_ptr<TensorReader>> open_hdf5(const std::filesystem::path& path, const FileIdentity& identity,
                                                const ReadOptions& options);

// What open_tensors() does with a folder and with one file of it. `path` is a regular file.
Result<std::unique_ptr<TensorReader>> open_folder(const std::filesystem::path& path, const ReadOptions& options);
Result<std::unique_ptr<TensorReader>> open_file(const std::filesystem::path& path, const FileIdentity& identity,
                                                const ReadOptions& options);

// From a pipe: the elements are read once, as they come.
Result<std::unique_ptr<TensorReader>> open_npy_stream(std::unique_ptr<ByteSource> pipe, const FileIdentity& identity,
                                                      const ReadOptions& options);
Result<std::unique_ptr<TensorReader>> open_raw_stream(std::unique_ptr<ByteSource> pipe, const FileIdentity& identity,
                                                      const ReadOptions& options);

// Writers. `output` is committed by TensorWriter::commit(); HDF5 writes to its staging()
// path, or to a spool where that is empty.
Result<std::unique_ptr<TensorWriter>> create_npy(const std::filesystem::path& path, const Origin& origin,
                                                 const WriteOptions& options);
Result<std::unique_ptr<TensorWriter>> create_npz(std::unique_ptr<Output> output, const Origin& origin,
                                                 const WriteOptions& options);
Result<std::unique_ptr<TensorWriter>> create_safetensors(std::unique_ptr<Output> output, const Origin& origin,
                                                         const WriteOptions& options);
Result<std::unique_ptr<TensorWriter>> create_hdf5(std::unique_ptr<Output> output, const Origin& origin,
                                                  const WriteOptions& options);

}  // namespace gradz::formats
