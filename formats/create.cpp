#include <array>

#include "formats/readers.hpp"
#include "formats/tensor_writer.hpp"

namespace gradz::formats {
namespace {

struct FormatRow {
    std::string_view name;
    Format format;
};
// The first row of a format is its name in an Origin.
constexpr FormatRow kFormats[] = {
    {"npy", Format::npy}, {"npz", Format::npz}, {"hdf5", Format::hdf5}, {"safetensors", Format::safetensors},
    {"h5", Format::hdf5},
};

}  // namespace

Result<Format> format_of(std::string_view name) {
    for (const auto& row : kFormats)
        if (row.name == name) return row.format;
    return Error{Errc::invalid_argument,
                 "no format '" + std::string(name) + "': npy, npz, h5, hdf5 and safetensors are known", ""};
}

std::string_view name_of(Format format) {
    for (const auto& row : kFormats)
        if (row.format == format) return row.name;
    return {};
}

Result<std::unique_ptr<TensorWriter>> create_tensors(const std::filesystem::path& path, Format format,
                                                     const Origin& origin, const WriteOptions& options) {
    if (format == Format::npy) return create_npy(path, origin, options);  // a file or a folder
    GRADZ_TRY(auto output, create(path, options.force, options.asked));
    if (!options.like.empty()) output->copy_times(options.like);
    switch (format) {
        case Format::npz: return create_npz(std::move(output), origin, options);
        case Format::safetensors: return create_safetensors(std::move(output), origin, options);
        default: return create_hdf5(std::move(output), origin, options);
    }
}

}  // namespace gradz::formats
