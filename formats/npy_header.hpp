// The head of an .npy file, versions 1.0, 2.0 and 3.0: a dict literal that is parsed, never
// evaluated. Shared by .npy files, pipes and the members of .npz archives.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/tensor.hpp"

namespace gradz::formats {

struct NpyHeader {
    DType dtype = DType::f32;
    std::vector<std::uint64_t> shape;
    bool big_endian = false, fortran = false;
    std::uint8_t major = 1;
    std::uint64_t data_offset = 0;  // bytes from the magic to the first element
};

// How many bytes parse_npy_header() needs, from the first 12 of them (fewer if the file is
// shorter): Errc::truncated, or corrupt for a wrong magic or an unknown version.
Result<std::uint64_t> npy_header_size(std::span<const std::byte> start);

// start: at least npy_header_size() bytes. Errc::corrupt or truncated for damage,
// Errc::unsupported with a sentence for object arrays (pickles), structured types, long
// double, datetime, strings and void. Shapes are checked as TensorInfo::numel() does.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> start);

// As NumPy writes it: padded to 64 bytes, the given major version or the oldest that fits.
// Errc::unsupported for a dtype that npy lacks (bfloat16, 8-bit floats).
Result<std::vector<std::byte>> print_npy_header(const NpyHeader& header);

}  // namespace gradz::formats
