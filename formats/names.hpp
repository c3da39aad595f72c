// What names of files and tensors say, and how tensor names become file names.
#pragma once

#include <compare>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.hpp"
#include "formats/readers.hpp"
#include "formats/tensor_reader.hpp"

namespace gradz::formats {

// Found between delimiters ('/', '.', '_', '-', start, end): step, global_step, iter or
// iteration, an optional '_' or '-', and digits; rank or worker likewise. The last one of
// each kind counts, since inner folders say more than outer ones.
struct NameParts {
    std::string rest;  // without the patterns and one delimiter each: "grad_step_10_rank3" -> "grad"
    std::optional<std::uint64_t> step, worker;
};
NameParts split_name(std::string_view name);

// Of a file's own name: its extension (as npy, npz, ...) is no part of the stem.
// path: only the last component is looked at.
FileIdentity identify(const std::filesystem::path& path, const ReadOptions& options);

// Sets step and worker: what the options say, else the tensor's own name, else its file's, else 0.
void place_tensor(TensorInfo& info, const FileIdentity& identity, const ReadOptions& options);

// Errc::corrupt naming the tensor if two agree in (name, step, worker).
Result<Done> check_distinct(const std::vector<TensorInfo>& tensors);

// Runs of digits by value ("step2" < "step10"), all else by bytes; equal only if the bytes are.
std::strong_ordering compare_natural(std::string_view a, std::string_view b);

// A file name for any bytes: all outside [A-Za-z0-9._-] as %XX, so are a leading dot and an
// empty name ("%"); more than 200 bytes are cut and get the name's XXH3 as suffix. Different
// names stay different, and no result is a path.
std::string encode_file_name(std::string_view name);

// The inverse for names that were not cut: nothing where `text` has no such spelling.
std::optional<std::string> decode_file_name(std::string_view text);

}  // namespace gradz::formats
