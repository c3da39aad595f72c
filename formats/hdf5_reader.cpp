// placeholder
#include "formats/readers.hpp"

namespace gradz::formats {

Result<std::unique_ptr<TensorReader>> open_hdf5(const std::filesystem::path&, const FileIdentity&, const ReadOptions&) {
    return Error{Errc::unsupported, "hdf5 files are not read yet", ""};
}

}  // namespace gradz::formats
