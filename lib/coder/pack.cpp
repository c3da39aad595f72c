#include "coder/pack.hpp"

#include <cassert>

#include "kernels/dispatch.hpp"

namespace gradz {
namespace {

// Every target gives the same bytes, so that a GRADZ_TARGET that cannot be had is for others
// to report.
const kernels::Kernels& fastest() {
    static const kernels::Kernels* const kernels = [] {
        const auto active = kernels::active();
        return active ? *active : kernels::runnable().back();
    }();
    return *kernels;
}

const std::uint8_t* bytes_of(const std::byte* b) { return reinterpret_cast<const std::uint8_t*>(b); }
std::uint8_t* bytes_of(std::byte* b) { return reinterpret_cast<std::uint8_t*>(b); }

}  // namespace

void pack_bits(const std::byte* symbols, std::size_t n, unsigned width, std::byte* bytes) {
    assert(width >= 1 && width <= 16);
    const auto pack = width <= 8 ? fastest().pack8 : fastest().pack16;
    pack(bytes_of(symbols), n, static_cast<int>(width), bytes_of(bytes));
}

bool unpack_bits(const std::byte* bytes, std::size_t n, unsigned width, std::byte* symbols) {
    assert(width >= 1 && width <= 16);
    const auto unpack = width <= 8 ? fastest().unpack8 : fastest().unpack16;
    unpack(bytes_of(bytes), n, static_cast<int>(width), bytes_of(symbols));
    const unsigned used = static_cast<unsigned>(n % 8 * width % 8);
    return used == 0 || std::to_integer<unsigned>(bytes[packed_bytes(n, width) - 1]) >> used == 0;
}

}  // namespace gradz
