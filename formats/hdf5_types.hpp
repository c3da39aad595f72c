// HDF5 datatypes and ours. Types are known by their fields, never by predefined ids, and
// elements are moved as raw bytes, so that libhdf5 converts nothing: releases before 1.14.4
// have no half precision and would take it through float.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/tensor.hpp"
#include "formats/hdf5_handle.hpp"

namespace gradz::formats {

struct Hdf5Type {
    std::optional<DType> dtype;  // nothing: `skipped` says what it is ("string type")
    bool big_endian = false;
    std::string skipped;
    std::string remark;  // what the round trip does not keep ("enumeration, carried as its integers"); may be empty
    Hid memory;          // what H5Dread and H5Aread are asked for: the type itself, or for integers
                         // with padding bits the full one in the file's byte order
};

// Floats with exactly the fields of f16, bf16, f32, f64 or an 8-bit float, integers of 1 to 8
// bytes, h5py's bool (an enum of FALSE and TRUE over int8) and complex (a compound of equal
// floats r and i). Errc::unsupported for numbers that none of our types holds, such as long
// double; what has no numeric array value is skipped.
Result<Hdf5Type> read_hdf5_type(hid_t type);

// As h5py makes it. Errc::unsupported for float8_e8m0fnu, which HDF5 cannot describe.
Result<Hid> make_hdf5_type(DType dtype, bool big_endian);

// Swaps the bytes of every word of `word` bytes; bytes.size() is a multiple of it.
void swap_words(std::span<std::byte> bytes, std::size_t word);

}  // namespace gradz::formats
