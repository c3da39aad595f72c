// What all coders do around the coding itself: room for their output, and the checks of
// what comes out of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/grow.hpp"

namespace gradz {

// A buffer of the calling thread: at least `count` bytes, contents unspecified, valid until
// the same thread asks again. It only ever grows, so a block costs no allocation.
Result<std::byte*> thread_scratch(std::size_t count);

// Errc::truncated or corrupt unless a code has exactly the length that its shape asks for.
Result<Done> check_length(std::size_t bytes, std::uint64_t want);

// Errc::corrupt, naming the first one, unless all symbols are below the alphabet.
// symbols: [elements * (alphabet <= 256 ? 1 : 2)]
Result<Done> check_symbols(std::span<const std::byte> symbols, std::uint32_t alphabet);

}  // namespace gradz
