// Tensor names and paths in an HDF5 file.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "formats/hdf5_handle.hpp"

namespace gradz::formats {

// UTF-8 where it is needed and the bytes are valid; old readers know ASCII only.
H5T_cset_t charset_of(std::string_view name);

// Attribute names are C strings with at least one byte: NUL becomes %00, the empty name "%".
std::string attribute_name(std::string_view name);

// Where the tensors of a new file lie. "a/b" is the dataset b of the group a. What cannot be
// a path is percent-encoded: the empty name as "%", a NUL, a component ".", and slashes
// beside an empty component ("/a" is "%2Fa", "a//b" is "a/%2Fb"). Names from other formats
// also lose components ".." , which HDF5 takes for ordinary names and others may not.
// Where a dataset stands in the way ("a" and "a/b"), all slashes are encoded, then all bytes.
class Hdf5Names {
public:
    // plain_dots: ".." stays as it is.
    explicit Hdf5Names(bool plain_dots) : plain_dots_(plain_dots) {}

    // Relative to the root; takes the path and all groups above it. Errc::corrupt if the name
    // came before, unsupported if no spelling is free.
    Result<std::string> add_tensor(const std::string& name);

    void add_group(const std::string& path);  // and all above it

    // The path of a tensor or group of that name; nullptr if there is none.
    const std::string* find(const std::string& object) const;

private:
    bool is_free(const std::string& path) const;

    bool plain_dots_;
    std::unordered_map<std::string, std::string> tensors_;  // name to path
    std::unordered_set<std::string> datasets_, groups_;     // paths
};

}  // namespace gradz::formats
