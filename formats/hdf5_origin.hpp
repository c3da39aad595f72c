// What restores an HDF5 file beyond its tensors, as Origin entries: attributes here, the
// layout of datasets in hdf5_layout.hpp, groups and links in hdf5_visit.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/origin.hpp"
#include "formats/hdf5_handle.hpp"

namespace gradz::formats {

// Appends an "attribute:NAME" entry for each attribute of `object` (an open file, group or
// dataset), by name. What is no number and no string gets a line in `warnings` instead.
// where: the object's path without a leading slash. Errc::corrupt for damage.
Result<Done> read_attributes(hid_t object, const std::string& where, Origin& origin,
                             std::vector<std::string>& warnings);

// Creates the attribute `name` of the object at `path` ("/" or absolute) from an entry's
// value. Errc::corrupt if the value is not as the encoding says.
Result<Done> write_attribute(hid_t file, const std::string& path, const std::string& name, std::string_view value);

// A scalar string for the root group, as h5py writes a str: variable-length UTF-8, or of
// fixed length where it has a NUL inside.
Result<Done> write_text_attribute(hid_t file, const std::string& name, std::string_view text);

}  // namespace gradz::formats
