#include "quant/resolve.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "quant/levels.hpp"
#include "quant/nearest.hpp"
#include "quant/presets.hpp"

namespace gradz {
namespace {

bool lists(std::string_view words, std::string_view word) {
    return ('|' + std::string(words) + '|').find('|' + std::string(word) + '|') != std::string::npos;
}

// Both without locale.
std::string print_number(double value, bool integer) {
    char out[32];
    const auto chars = integer ? std::to_chars(out, out + sizeof out, static_cast<long long>(value))
                               : std::to_chars(out, out + sizeof out, value);
    return {out, chars.ptr};
}

std::string wanted(const Param& p) {
    std::string want(p.words);
    if (p.lo > p.hi) return want;
    want += (want.empty() ? "" : " or ") + print_number(p.lo, p.integer) + ".." + print_number(p.hi, p.integer);
    return p.open ? want + ", both excluded" : want;
}

// NaN and infinity fail the range, and integers are exact below 2^53 only.
bool allows(const Param& p, double value) {
    if (!(value >= p.lo && value <= p.hi) || (p.open && (value == p.lo || value == p.hi))) return false;
    return !p.integer || (std::abs(value) < 0x1p53 && value == std::floor(value));
}

Result<std::string> canonical(const Param& p, const std::string& text) {
    if (lists(p.words, text)) return text;
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, ec] = std::from_chars(text.data(), end, value);
    if (ec == std::errc{} && stop == end && allows(p, value)) return print_number(value, p.integer);
    return Error{Errc::invalid_argument, std::string(p.key) + " = " + text + ", want " + wanted(p), "spec"};
}

// Whether the stage spells another parameter in the place of this one.
bool replaced(const Param& param, const Stage& given, std::span<const Param> params) {
    return std::any_of(params.begin(), params.end(),
                       [&](auto& other) { return other.instead_of == param.key && given.find(other.key); });
}

Result<Done> check_keys(const Stage& given, const StageRow& row) {
    for (const auto& pair : given.params) {
        if (row.params.empty())
            return Error{Errc::invalid_argument, given.name + " has no parameters, not '" + pair.first + "'", "spec"};
        if (std::none_of(row.params.begin(), row.params.end(), [&](auto& p) { return p.key == pair.first; }))
            return unknown("key", pair.first, row.params, &Param::key);
    }
    for (const auto& p : row.params)
        if (!p.instead_of.empty() && given.find(p.key) && given.find(p.instead_of))
            return Error{Errc::invalid_argument,
                         std::string(p.instead_of) + " and " + std::string(p.key) + " exclude each other", "spec"};
    return Done{};
}

Result<Stage> resolve_stage(const Stage& given, const StageRow& row) {
    GRADZ_TRY([[maybe_unused]] const auto known, check_keys(given, row));
    Stage out{given.name, {}};
    for (const auto& param : row.params) {
        const std::string* text = given.find(param.key);
        if (!text && (!param.instead_of.empty() || replaced(param, given, row.params))) continue;
        GRADZ_TRY(auto value, canonical(param, text ? *text : std::string(param.fallback)));
        out.params.emplace_back(param.key, std::move(value));
    }
    if (const Preset* preset = find_preset(row.name)) {
        GRADZ_TRY([[maybe_unused]] const auto levels, make_levels(*preset, out));
    }
    return out;
}

// rows: their first quantizer that rounds goes before every coder; none does not.
Result<Done> check_order(const StageRow* previous, const StageRow& next, std::span<const StageRow> rows) {
    if (!previous && next.kind == Kind::coder) {
        const auto quantizer = std::find_if(rows.begin(), rows.end(), [](const StageRow& row) {
            return row.kind == Kind::quantizer && !row.params.empty();
        });
        const std::string name(next.name), first(quantizer == rows.end() ? "none" : quantizer->name);
        return Error{Errc::invalid_argument,
                     "a quantizer is missing before '" + name + "'; nearest: " + first + "+" + name, "spec"};
    }
    if (previous && (next.kind < previous->kind || (next.kind == previous->kind && next.kind != Kind::transform)))
        return Error{Errc::invalid_argument,
                     "'" + std::string(next.name) + "' cannot follow '" + std::string(previous->name) + "'", "spec"};
    return Done{};
}

}  // namespace

Result<Spec> resolve(const Spec& spec, std::span<const StageRow> rows) {
    Spec out;
    const StageRow* previous = nullptr;
    for (const auto& stage : spec) {
        const auto row = std::find_if(rows.begin(), rows.end(), [&](auto& r) { return r.name == stage.name; });
        if (row == rows.end()) return unknown("stage", stage.name, rows, &StageRow::name);
        GRADZ_TRY([[maybe_unused]] const auto ordered, check_order(previous, *row, rows));
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
