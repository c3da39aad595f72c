// placeholder
#include "formats/readers.hpp"

namespace gradz::formats {

Result<std::unique_ptr<TensorWriter>> create_npz(std::unique_ptr<Output>, const Origin&, const WriteOptions&) {
    return Error{Errc::unsupported, "npz files are not written yet", ""};
}

}  // namespace gradz::formats
