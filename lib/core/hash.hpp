// XXH3 (xxHash 0.8, BSD-2-Clause): every checksum and every random key of the stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gradz {

std::uint64_t xxh3_64(std::span<const std::byte> bytes);

// Of the concatenation of the parts.
std::uint64_t xxh3_64(std::initializer_list<std::span<const std::byte>> parts);

// XXH3-128 over bytes that come piece by piece: `gradz test --digest`.
class Digest {
public:
    Digest();
    ~Digest();
    Digest(const Digest&) = delete;
    Digest& operator=(const Digest&) = delete;
    void update(std::span<const std::byte> bytes);
    std::string hex() const;  // 32 lower-case digits, high half first as xxhsum prints

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The random key of a tensor: XXH3-64 of seed, step and worker (little-endian 64-bit each)
// and the bytes of the name. Stored with the tensor, so that decoders need only the key.
std::uint64_t tensor_key(std::uint64_t seed, std::uint64_t step, std::uint64_t worker, std::string_view name);

}  // namespace gradz
