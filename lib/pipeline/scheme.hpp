// A spec made ready to run: its quantizer, its coder, and how it cuts tensors.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coder/coder.hpp"
#include "core/error.hpp"
#include "quant/compose.hpp"
#include "quant/spec.hpp"
#include "stats/bounds.hpp"
#include "stats/measure.hpp"

namespace gradz {

constexpr std::string_view kDefaultSpec = "nuqsgd";  // with every other parameter at its default

// Every stage that specs may name: quantizers, then coders.
std::span<const StageRow> all_stages();

// Parses and resolves; a spec without a coder gets the default one, zstd:level=1. Errc::
// invalid_argument for all that is wrong, also a coder that cannot take the quantizer's
// symbols (elias after none, fp16 or bf16; rans after none).
Result<Spec> resolve_spec(std::string_view text);

// What carries tensors that `spec` cannot quantize or would not shrink: none, with the
// coder of `spec` where that codes elements (fixed, zstd), else with the default one.
Spec lossless_spec(const Spec& spec);

struct Scheme {
    std::string text;  // canonical
    const kernels::Kernels* kernels = nullptr;
    std::optional<Composition> quantizer;  // nothing for none
    std::unique_ptr<Coder> coder;          // for symbols
    int element_level = 0;                 // zstd level for elements, 0: raw
    MeasureScheme measure;                 // what statistics need of the quantizer
    Bounds bounds;                         // of nothing where theory has none

    // spec: as resolve_spec() returns it. Uses kernels::active().
    static Result<std::shared_ptr<const Scheme>> make(const Spec& spec);

    bool lossless() const { return !quantizer; }
    std::uint64_t bucket(std::uint64_t elements) const;
    std::uint64_t chunk(std::uint64_t elements) const { return chunk_elements(bucket(elements)); }

    // Bytes of scales and fixed-width symbols, and whether they are fewer than the elements'.
    std::uint64_t fixed_size(std::uint64_t elements) const;
    bool gains(const TensorInfo& info, std::uint64_t elements) const;
};

// Schemes by text; made once each. Thread-safe.
class SchemeCache {
public:
    // text: from a stream, so that an unknown name is Errc::incompatible, and a text that is
    // not canonical Errc::corrupt.
    Result<std::shared_ptr<const Scheme>> get(const std::string& text);

private:
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<const Scheme>> made_;
};

}  // namespace gradz
