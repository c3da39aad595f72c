// What the records of a stream say, apart from its blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "container/frame.hpp"
#include "container/record.hpp"
#include "core/origin.hpp"

namespace gradz {

// Grows as records are read.
struct StreamState {
    StreamHead head;
    Origin origin;
    std::vector<std::string> specs;
    std::vector<TensorHeader> tensors;
    std::vector<std::uint64_t> elements;      // of each tensor
    std::vector<std::uint64_t> header_bytes;  // of each tensor, as StreamWriter::tensors gives them
};

}  // namespace gradz
