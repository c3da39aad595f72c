#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "coder/coders.hpp"
#include "core/zstd.hpp"

namespace gradz {
namespace {

constexpr Param kEliasParams[] = {{"code", "omega", "omega|gamma|delta"}};
constexpr Param kZstdParams[] = {{"level", "1", "", kZstdMinLevel, kZstdMaxLevel}};

constexpr StageRow kStages[] = {
    {kFixedId, "fixed", Kind::coder, {}, "the same bits for every symbol, ternary five to a byte"},
    {kEliasId, "elias", Kind::coder, kEliasParams,
     "scale, then gap, sign and level in Elias codes (Alistarh et al., NIPS 2017, 3.1)"},
    {kZstdId, "zstd", Kind::coder, kZstdParams, "symbols packed into bytes, then Zstandard (RFC 8878)"},
    {kRansId, "rans", Kind::coder, {}, "symbols packed into bytes, then rANS of order 0 (Duda, arXiv:1311.2540)"},
};

using Params = std::span<const std::pair<std::string, std::string>>;

std::string_view value_of(Params params, const Param& param) {
    const auto at = std::find_if(params.begin(), params.end(), [&](auto& p) { return p.first == param.key; });
    return at == params.end() ? param.fallback : std::string_view(at->second);
}

EliasCode elias_code(std::string_view word) {
    return word == "gamma" ? EliasCode::gamma : word == "delta" ? EliasCode::delta : EliasCode::omega;
}

int number(std::string_view text) {
    int value = kZstdMinLevel;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return std::clamp(value, kZstdMinLevel, kZstdMaxLevel);
}

}  // namespace

std::span<const StageRow> coder_stages() { return kStages; }

std::unique_ptr<Coder> make_coder(std::string_view name, Params params) {
    if (name == "fixed") return make_fixed();
    if (name == "elias") return make_elias(elias_code(value_of(params, kEliasParams[0])));
    if (name == "zstd") return make_zstd(number(value_of(params, kZstdParams[0])));
    if (name == "rans") return make_rans();
    return nullptr;
}

std::unique_ptr<Coder> coder_by_id(std::uint16_t id) {
    for (const auto& row : kStages)
        if (row.id == id) return make_coder(row.name, {});
    return nullptr;
}

}  // namespace gradz
