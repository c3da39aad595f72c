// placeholder
#include "formats/readers.hpp"

namespace gradz::formats {

Result<std::unique_ptr<TensorReader>> open_safetensors(std::shared_ptr<MappedFile>, const FileIdentity&,
                                                       const ReadOptions&) {
    return Error{Errc::unsupported, "safetensors files are not read yet", ""};
}

}  // namespace gradz::formats
