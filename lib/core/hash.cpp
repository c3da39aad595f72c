#include "core/hash.hpp"

#include <xxhash.h>
#ifdef GRADZ_XXH_DISPATCH
#include <xxh_x86dispatch.h>  // the same functions for AVX2 and AVX-512, chosen at run time
#endif

#include <new>
#include <vector>

#include "core/bytes.hpp"

namespace gradz {

namespace {

struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};
using Owned = std::unique_ptr<XXH3_state_t, Free>;

Owned make_state() {
    Owned state(XXH3_createState());
    if (!state) throw std::bad_alloc();
    return state;
}

}  // namespace

struct Digest::State {
    Owned xxh = make_state();
};

std::uint64_t xxh3_64(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t xxh3_64(std::initializer_list<std::span<const std::byte>> parts) {
    thread_local const Owned state = make_state();
    XXH3_64bits_reset(state.get());
    for (const auto part : parts) XXH3_64bits_update(state.get(), part.data(), part.size());
    return XXH3_64bits_digest(state.get());
}

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh.get()); }
Digest::~Digest() = default;

void Digest::update(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}

std::string Digest::hex() const {
    constexpr char kDigits[] = "0123456789abcdef";
    const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh.get());
    std::string out;
    for (const std::uint64_t half : {hash.high64, hash.low64})
        for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[half >> shift & 15];
    return out;
}

std::uint64_t tensor_key(std::uint64_t seed, std::uint64_t step, std::uint64_t worker, std::string_view name) {
    std::vector<std::byte> bytes;
    ByteWriter writer(bytes);
    for (const std::uint64_t word : {seed, step, worker}) writer.little(word);
    writer.text(name);
    return xxh3_64(bytes);
}

}  // namespace gradz
