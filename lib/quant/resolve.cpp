#include "quant/resolve.hpp"

#include <algorithm>
#include <charconv>

#include "quant/nearest.hpp"

namespace gradz {
namespace {

bool lists(std::string_view words, std::string_view word) {
    return ('|' + std::string(words) + '|').find('|' + std::string(word) + '|') != std::string::npos;
}

Result<std::string> canonical(const Param& p, const std::string& text) {
    if (lists(p.words, text)) return text;
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, ec] = std::from_chars(text.data(), end, value);
    const bool whole = !p.integer || value == static_cast<double>(static_cast<long long>(value));
    if (ec == std::errc{} && stop == end && value >= p.lo && value <= p.hi && whole) {
        char out[32];
        const auto chars = p.integer ? std::to_chars(out, out + sizeof out, static_cast<long long>(value))
                                     : std::to_chars(out, out + sizeof out, value);  // both without locale
        return std::string(out, chars.ptr);
    }
    std::string want(p.words);
    if (p.lo <= p.hi) {
        char range[64];
        auto at = std::to_chars(range, range + 30, p.lo).ptr;
        *at++ = '.', *at++ = '.';
        at = std::to_chars(at, range + sizeof range, p.hi).ptr;
        want += (want.empty() ? "" : " or ") + std::string(range, at);
    }
    return Error{Errc::invalid_argument, std::string(p.key) + " = " + text + ", want " + want, "spec"};
}

Result<Stage> resolve_stage(const Stage& given, const StageRow& row) {
    for (const auto& pair : given.params)
        if (std::none_of(row.params.begin(), row.params.end(), [&](auto& p) { return p.key == pair.first; }))
            return unknown("key", pair.first, row.params, &Param::key);
    Stage out{given.name, {}};
    for (const auto& param : row.params) {
        const std::string* text = given.find(param.key);
        GRADZ_TRY(auto value, canonical(param, text ? *text : std::string(param.fallback)));
        out.params.emplace_back(param.key, std::move(value));
    }
    return out;
}

}  // namespace

Result<Spec> resolve(const Spec& spec, std::span<const StageRow> rows) {
    Spec out;
    const StageRow* previous = nullptr;
    for (const auto& stage : spec) {
        const auto row = std::find_if(rows.begin(), rows.end(), [&](auto& r) { return r.name == stage.name; });
        if (row == rows.end()) return unknown("stage", stage.name, rows, &StageRow::name);
        if (previous && (row->kind < previous->kind || (row->kind == previous->kind && row->kind != Kind::transform)))
            return Error{Errc::invalid_argument,
                         "'" + stage.name + "' cannot follow '" + std::string(previous->name) + "'", "spec"};
        GRADZ_TRY(auto resolved, resolve_stage(stage, *row));
        out.push_back(std::move(resolved));
        previous = &*row;
    }
    return out;
}

double number(const Stage& stage, std::string_view key) {
    double value = 0;
    const std::string& text = *stage.find(key);
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace gradz
