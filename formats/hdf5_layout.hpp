// How a dataset lies in its file: chunks, filters, fill value. To Origin entries and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/origin.hpp"
#include "core/tensor.hpp"
#include "formats/hdf5_types.hpp"

namespace gradz::formats {

// "lzf (h5py)": what a filter is called and which package has it; "" if unknown.
std::string_view filter_package(H5Z_filter_t id);

// Dims of a chunk; empty unless the dataset is chunked. properties: its creation list.
Result<std::vector<std::uint64_t>> chunk_of(hid_t properties, std::size_t rank);

// Appends the entries of tensor `info`: byte_order, hdf5.chunk, hdf5.maxshape, hdf5.filters,
// hdf5.fill and hdf5.layout. Filters that are not built into every libhdf5 or that change
// values (scale-offset) get a line in `warnings` instead.
Result<Done> read_layout(hid_t dataset, const TensorInfo& info, const Hdf5Type& type, Origin& origin,
                         std::vector<std::string>& warnings);

// Entries of one object, in the order of the Origin.
using Hdf5Facts = std::vector<const OriginEntry*>;

struct Hdf5Layout {
    Hid properties, space;             // for H5Dcreate
    std::vector<std::uint64_t> chunk;  // empty: contiguous or compact
    bool big_endian = false;
    bool filtered = false;
};

// Obeys the facts as far as they fit the tensor: after a slice or with another dtype chunks
// are cut to the shape, and what contradicts the shape is ignored. filters = false leaves
// filters out, for those that refuse the dataset. Errc::unsupported for more than 32 dims.
Result<Hdf5Layout> make_layout(const TensorInfo& info, const Hdf5Facts& facts, bool filters);

}  // namespace gradz::formats
