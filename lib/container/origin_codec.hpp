// ORIGIN bodies (docs/FORMAT.md 3).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "container/budget.hpp"
#include "core/error.hpp"
#include "core/origin.hpp"

namespace gradz {

// The body of one record: as many of the entries as stay below some megabytes, at least
// one. Returns how many. Errc::unsupported, naming the entry, if one alone is too large.
// Precondition: there are entries.
Result<std::size_t> write_origin(std::span<const OriginEntry> entries, std::vector<std::byte>& body);

// Appends to `origin`.
Result<Done> read_origin(std::span<const std::byte> body, StateBudget& budget, Origin& origin);

}  // namespace gradz
