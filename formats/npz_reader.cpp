// placeholder
#include "formats/readers.hpp"

namespace gradz::formats {

Result<std::unique_ptr<TensorReader>> open_npz(std::shared_ptr<MappedFile>, const FileIdentity&, const ReadOptions&) {
    return Error{Errc::unsupported, "npz files are not read yet", ""};
}

}  // namespace gradz::formats
