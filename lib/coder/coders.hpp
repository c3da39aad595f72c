// The coders by their own parameters; the registry maps names and ids to these.
#pragma once

#include <cstdint>
#include <memory>

#include "coder/coder.hpp"
#include "coder/elias_code.hpp"

namespace gradz {

constexpr std::uint16_t kFixedId = 1, kEliasId = 2, kZstdId = 3, kRansId = 4;  // on disk

std::unique_ptr<Coder> make_fixed();
std::unique_ptr<Coder> make_elias(EliasCode code);
std::unique_ptr<Coder> make_rans();
std::unique_ptr<Coder> make_zstd(int level);  // kZstdMinLevel .. kZstdMaxLevel; decoding needs none

}  // namespace gradz
