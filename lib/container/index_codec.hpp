// INDEX (docs/FORMAT.md 7): what it says, collected as records go by, and read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "container/record.hpp"
#include "core/error.hpp"

namespace gradz {

struct IndexEntry {
    std::uint8_t type = 0;
    std::uint64_t length = 0;             // of the whole record
    std::uint64_t tensor = 0, chunk = 0;  // of a BLOCK

    bool is(RecordType t) const { return type == static_cast<std::uint8_t>(t); }
};

class IndexBuilder {
public:
    void add(const IndexEntry& entry);
    std::vector<std::byte> contents() const;

private:
    std::vector<std::byte> entries_;
    std::uint64_t count_ = 0, tensor_ = 0;
};

// Appends the body.
Result<Done> write_index(const IndexBuilder& index, std::vector<std::byte>& body);

// Whether a body says exactly what was collected.
Result<Done> match_index(std::span<const std::byte> body, const IndexBuilder& index);

// One entry after another. Every entry has a length that a record can have, and they add
// up to `distance`, the bytes between HEAD and INDEX.
class IndexParser {
public:
    static Result<IndexParser> open(std::span<const std::byte> body, std::uint64_t distance);

    std::uint64_t count() const { return count_; }  // entries that are left
    std::uint64_t distance() const { return distance_; }
    Result<IndexEntry> next();  // precondition: count() > 0

private:
    Result<Done> close() const;

    std::vector<std::byte> contents_;
    std::size_t at_ = 0;
    std::uint64_t count_ = 0, distance_ = 0, tensor_ = 0;
};

}  // namespace gradz
