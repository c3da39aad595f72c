// placeholder
#include "formats/readers.hpp"

namespace gradz::formats {

Result<std::unique_ptr<TensorWriter>> create_safetensors(std::unique_ptr<Output>, const Origin&, const WriteOptions&) {
    return Error{Errc::unsupported, "safetensors files are not written yet", ""};
}

}  // namespace gradz::formats
