// A dump that can be read only once, held in memory so that it can be read again.
#pragma once

#include <cstdint>
#include <memory>

#include "core/source.hpp"

namespace gradz {

// Reads all of `source`, which must outlive the result. Errc::unsupported naming --memory if its elements take more
// than `memory` bytes.
Result<std::unique_ptr<TensorSource>> hold(TensorSource& source, std::uint64_t memory);

}  // namespace gradz
