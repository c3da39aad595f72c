// What is inside an HDF5 file: its tensors, what is skipped, and the Origin that restores it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/origin.hpp"
#include "core/tensor.hpp"
#include "formats/hdf5_handle.hpp"
#include "formats/readers.hpp"

namespace gradz::formats {

// Where the values of a tensor are.
struct Hdf5Place {
    haddr_t address = HADDR_UNDEF;  // of the object in the file, whatever its links are called
    bool by_path = false;           // values outside the file: opened by name, from the root
    bool big_endian = false;
    std::optional<std::uint64_t> offset;  // of the first element in the file, where they lie flat
};

struct Hdf5Contents {
    std::vector<TensorInfo> tensors;
    std::vector<Hdf5Place> places;  // one for each tensor
    std::vector<Skipped> skipped;
    Origin origin;
    std::vector<std::string> warnings;
};

// Every object once, in order of names, without recursion of our own: cycles of hard links
// end, soft links are recorded and never followed, external ones followed only if the options
// say so. Reads no element. Errc::unsupported for a missing filter, for numbers that none of
// our types holds and for more declared bytes than the options allow; Errc::corrupt for
// damage, and for groups that lie too deep.
Result<Hdf5Contents> visit_hdf5(hid_t file, const FileIdentity& identity, const ReadOptions& options);

}  // namespace gradz::formats
