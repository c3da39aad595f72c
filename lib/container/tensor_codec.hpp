// TENSORS bodies (docs/FORMAT.md 5): count and front-coded headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "container/budget.hpp"
#include "container/record.hpp"
#include "core/error.hpp"

namespace gradz {

// `sizes` receives the bytes of every header. Errc::unsupported for a name or a rank that
// the format cannot hold. Precondition: 1 to kBatchTensors headers.
Result<Done> write_tensor_headers(std::span<const TensorHeader> headers, std::vector<std::byte>& body,
                                  std::vector<std::uint64_t>& sizes);

// Appends to both. Structure only: counts, ranks, names and dtypes; what a header says of
// keys, specs and sizes is checked where the rest of the stream is known.
Result<Done> read_tensor_headers(std::span<const std::byte> body, StateBudget& budget,
                                 std::vector<TensorHeader>& headers, std::vector<std::uint64_t>& sizes);

}  // namespace gradz
