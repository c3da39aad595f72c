// Front coding and zstd let a few bytes stand for gigabytes of names and attributes. What a
// stream makes its reader remember is therefore bounded by its length, beside a base that
// only hostile streams and dumps of millions of attributes reach. Writers keep to it too.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.hpp"

namespace gradz {

struct StateBudget {
    static constexpr std::uint64_t kBase = std::uint64_t{1} << 29, kPerByte = 64;

    std::uint64_t base = kBase;
    std::uint64_t input = 0;  // bytes of the input that stand behind what was spent
    std::uint64_t spent = 0;

    Result<Done> spend(std::uint64_t bytes) {
        spent += bytes;
        // Divided, because the product could overflow.
        if (spent > base && (spent - base) / kPerByte >= input)
            return Error{Errc::unsupported,
                         "names and attributes of " + std::to_string(spent) + " bytes in a stream this short", ""};
        return Done{};
    }
};

// Text and what it takes to hold it, roughly.
inline std::uint64_t cost_of(std::uint64_t object, std::uint64_t key, std::uint64_t value) {
    return 128 + object + key + value;
}
inline std::uint64_t cost_of(std::uint64_t name, std::uint64_t rank) { return 256 + name + 8 * rank; }

}  // namespace gradz
