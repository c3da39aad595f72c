// What each tensor of a stream takes, from the index alone.
#pragma once

#include <cstdint>
#include <vector>

#include "container/reader.hpp"

namespace gradz {

// Bytes of header and blocks; a run's block is shared by elements, as EncodeOptions' reports
// share what its tensors have in common (scales and escapes are not told apart here).
std::vector<std::uint64_t> output_shares(const IndexedStream& stream);

}  // namespace gradz
