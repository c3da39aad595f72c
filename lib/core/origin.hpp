// What restores a file beyond its tensors: layouts, groups, attributes, links. Readers of
// tensor files fill it, writers obey it, the stream carries it in ORIGIN records. The codec
// itself never looks inside, and a stream without it still decodes to the right values.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace gradz {

// One fact. Which keys exist, what they mean and how their values are spelled is written
// down in docs/FORMAT.md (ORIGIN); unknown keys are kept and ignored.
struct OriginEntry {
    std::string object;  // tensor name or group path; "" is the file
    std::string key;     // "npy.order", "hdf5.chunk", "attribute:units"
    std::string value;   // text, or bytes as the key says

    bool operator==(const OriginEntry&) const = default;
};

struct Origin {
    std::vector<OriginEntry> entries;  // in file order

    bool operator==(const Origin&) const = default;

    void set(std::string object, std::string key, std::string value) {
        entries.push_back({std::move(object), std::move(key), std::move(value)});
    }

    // nullptr if absent; the first one if there are several. Linear: build an index to ask
    // for every tensor of a large dump.
    const std::string* find(std::string_view object, std::string_view key) const {
        for (const auto& e : entries)
            if (e.object == object && e.key == key) return &e.value;
        return nullptr;
    }
};

}  // namespace gradz
