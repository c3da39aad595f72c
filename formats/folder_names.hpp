// Where a file lies inside a folder dump, and what that says about its tensors. The reader
// derives tensor names with it, the writer finds the file of a tensor with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace gradz::formats {

struct FolderPlace {
    std::string prefix;                         // pattern-free folders and stem, joined by '/'; may be empty
    std::optional<std::uint64_t> step, worker;  // the innermost one of the path
};

// relative: "step_10/layer1/rank0.npy", '/' between components.
FolderPlace place_of(std::string_view relative);

// The tensor of an .npy file has the prefix itself as its name, those of other files stand
// below it.
std::string name_in_folder(std::string_view prefix, std::string_view inner, bool npy);

// The inverse: the inner name, or nothing if `name` is none of that file.
std::optional<std::string> name_in_file(std::string_view prefix, std::string_view name, bool npy);

// The components of `relative`. Errc::corrupt for anything that could leave the folder or
// that its reader would not see: "..", hidden, empty or absolute names, bytes of 0.
Result<std::vector<std::string>> safe_components(std::string_view relative);

}  // namespace gradz::formats
