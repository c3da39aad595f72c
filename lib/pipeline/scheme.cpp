#include "pipeline/scheme.hpp"

#include <algorithm>

#include "kernels/dispatch.hpp"
#include "quant/presets.hpp"
#include "quant/resolve.hpp"

namespace gradz {
namespace {

const StageRow* row_named(std::string_view name) {
    for (const auto& row : all_stages())
        if (row.name == name) return &row;
    return nullptr;
}

// Coders for elements as they are; the others code symbols alone.
bool codes_elements(std::string_view coder) { return coder == "fixed" || coder == "zstd"; }

bool ends_with_coder(const Spec& spec) { return row_named(spec.back().name)->kind == Kind::coder; }

// Canonical text may come from any writer: what it says is checked like the user's.
Error foreign(const Error& error, const std::string& text) {
    return {Errc::incompatible, "spec '" + text + "': " + error.what, ""};
}

void add_theory(const Stage& stage, Scheme& scheme) {
    const Composition& q = *scheme.quantizer;
    const std::string* norm = stage.find("norm");
    scheme.measure = {scheme.kernels, LevelTable(q.levels(), q.kind()), q.alphabet(), q.unbiased(),
                      norm == nullptr || q.levels().back() != 1};
    if (norm && q.unbiased())
        scheme.bounds = Bounds(q.levels(), q.kind(), *norm == "linf" ? NormKind::linf : NormKind::l2);
}

}  // namespace

std::span<const StageRow> all_stages() {
    static const std::vector<StageRow> rows = [] {
        std::vector<StageRow> all(preset_stages().begin(), preset_stages().end());
        all.insert(all.end(), coder_stages().begin(), coder_stages().end());
        return all;
    }();
    return rows;
}

Result<Spec> resolve_spec(std::string_view text) {
    GRADZ_TRY(auto spec, parse_spec(text));
    if (const StageRow* last = row_named(spec.back().name); last && last->kind == Kind::quantizer)
        spec.push_back({"zstd", {}});
    GRADZ_TRY(auto resolved, resolve(spec, all_stages()));
    const std::string &quantizer = resolved.front().name, &coder = resolved.back().name;
    if (coder == "elias" && (quantizer == "none" || quantizer == "fp16" || quantizer == "bf16"))
        return Error{Errc::invalid_argument, "elias codes levels, and " + quantizer + " has none", "spec"};
    if (quantizer == "none" && !codes_elements(coder))
        return Error{Errc::invalid_argument, coder + " codes symbols, and none has none", "spec"};
    return resolved;
}

Spec lossless_spec(const Spec& spec) {
    Spec out{{"none", {}}};
    if (ends_with_coder(spec) && codes_elements(spec.back().name)) {
        out.push_back(spec.back());
        return out;
    }
    return *resolve_spec("none");
}

Result<std::shared_ptr<const Scheme>> Scheme::make(const Spec& spec) {
    GRADZ_TRY(const kernels::Kernels* const kernels, kernels::active());
    auto scheme = std::make_shared<Scheme>();
    scheme->text = print_spec(spec);
    scheme->kernels = kernels;
    const Stage& coder = spec.back();
    scheme->coder = make_coder(coder.name, coder.params);
    if (!scheme->coder) return Error{Errc::invalid_argument, "'" + coder.name + "' is no coder", "spec"};
    scheme->element_level = coder.name == "zstd" ? static_cast<int>(number(coder, "level")) : 0;
    if (spec.front().name != "none") {
        GRADZ_TRY(scheme->quantizer, Composition::make(spec.front(), *kernels));
        add_theory(spec.front(), *scheme);
    }
    return std::shared_ptr<const Scheme>(std::move(scheme));
}

std::uint64_t Scheme::bucket(std::uint64_t elements) const {
    return quantizer ? quantizer->bucket_of(elements) : kChunkTarget;
}

std::uint64_t Scheme::fixed_size(std::uint64_t elements) const {
    const std::uint64_t size = bucket(elements);
    const std::uint64_t scales = quantizer->has_scales() ? (elements + size - 1) / size * sizeof(float) : 0;
    return fixed_bytes(elements, quantizer->alphabet()) + scales;
}

bool Scheme::gains(const TensorInfo& info, std::uint64_t elements) const {
    return lossless() || fixed_size(elements) < elements * size_of(info.dtype);
}

Result<std::shared_ptr<const Scheme>> SchemeCache::get(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (const auto made = made_.find(text); made != made_.end()) return made->second;
    auto spec = resolve_spec(text);
    if (!spec) return foreign(spec.error(), text);
    if (print_spec(*spec) != text) return Error{Errc::corrupt, "spec '" + text + "' is not canonical", ""};
    auto scheme = Scheme::make(*spec);
    if (!scheme) return foreign(scheme.error(), text);
    made_[text] = *scheme;
    return *scheme;
}

}  // namespace gradz
