// Memory that may not be there, without an exception.
#pragma once

#include <cstddef>
#include <vector>

#include "core/error.hpp"

namespace gradz {

// Makes `bytes` longer by `count` zeros and returns where they begin; Errc::io where there
// is no memory, so that nothing throws out of a parallel loop.
Result<std::byte*> grow(std::vector<std::byte>& bytes, std::size_t count);

}  // namespace gradz
