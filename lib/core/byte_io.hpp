// Bytes in and out of the codec. The library opens no file: the command line hands it these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/error.hpp"

namespace gradz {

class ByteSink {
public:
    virtual ~ByteSink() = default;
    virtual Result<Done> write(std::span<const std::byte> bytes) = 0;  // all of them or an error
};

class ByteSource {
public:
    virtual ~ByteSource() = default;

    // The next bytes in order; fewer than asked for only at the end of the input.
    virtual Result<std::size_t> read(std::span<std::byte> into) = 0;

    // Bytes of the whole input where it can be read out of order; nothing for a pipe.
    virtual std::optional<std::uint64_t> size() const = 0;

    // Exactly into.size() bytes from `offset`, without moving the place of read(). Called
    // by several workers at once. Precondition: size() has a value. Errc::truncated past it.
    virtual Result<Done> read_at(std::uint64_t offset, std::span<std::byte> into) = 0;
};

}  // namespace gradz
