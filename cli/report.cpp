#include "report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "formats/output_file.hpp"
#include "version.hpp"

namespace gradz::cli {
namespace {

constexpr auto kReplace = Json::error_handler_t::replace;  // names need not be UTF-8

template <class T>
Json optional_json(const std::optional<T>& value) {
    if (!value) return nullptr;
    if constexpr (std::is_floating_point_v<T>) return number_json(*value);
    return *value;
}

std::string csv_cell(const Json& value) {
    if (value.is_null()) return "";
    if (value.is_array()) {  // a shape: 64x64x3x3
        std::string out;
        for (const auto& v : value) out += (out.empty() ? "" : "x") + v.dump();
        return out;
    }
    std::string text = value.is_string() ? value.dump(-1, ' ', false, kReplace) : value.dump();
    if (!value.is_string()) return text;
    text = Json::parse(text).get<std::string>();  // with replacement characters
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

std::string table_cell(const Json& value) {
    if (value.is_null()) return "-";
    if (value.is_number_float()) return human_number(value.get<double>());
    if (value.is_string()) return printable(value.get<std::string>());
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    return csv_cell(value);
}

// Columns of characters, not bytes: UTF-8 continuation bytes take no room.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

const Json& value_of(const Json& row, const std::string& key) {
    static const Json null;
    const auto at = row.find(key);
    return at == row.end() ? null : *at;
}

std::string render_rows(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& left) {
    std::vector<std::size_t> widths(left.size());
    for (const auto& row : rows)
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
    std::string out;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c) {
            const std::string pad(widths[c] - width_of(row[c]), ' ');
            line += (c ? "  " : "") + (left[c] ? row[c] + pad : pad + row[c]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
    return out;
}

// Steps and workers get columns where there is one to tell.
std::vector<std::string> with_places(const Report& report, std::vector<std::string> shown) {
    for (const char* key : {"worker", "step"}) {
        const auto tells = [&](const Json& row) { return row.value(key, std::uint64_t{0}) != 0; };
        const bool any = std::any_of(report.files.begin(), report.files.end(), [&](const FileReport& file) {
            return std::any_of(file.tensors.begin(), file.tensors.end(), tells);
        });
        if (any && !shown.empty() && shown[0] == "name") shown.insert(shown.begin() + 1, key);
    }
    return shown;
}

bool is_text(const std::string& key) {
    return key == "name" || key == "spec" || key == "dtype" || key == "shape" || key == "rule";
}

std::string render_table(const Report& report, const std::vector<std::string>& columns) {
    const std::vector<std::string> shown = with_places(report, columns);
    std::vector<bool> left;
    for (const auto& key : shown) left.push_back(is_text(key));
    std::string out;
    if (shown.empty()) return out;
    for (const auto& file : report.files) {
        if (file.head.contains("file")) out += printable(file.head["file"].get<std::string>()) + ":\n";
        std::vector<std::vector<std::string>> rows{shown};
        const auto add = [&](const Json& row) {
            std::vector<std::string> cells;
            for (const auto& key : shown) cells.push_back(table_cell(value_of(row, key)));
            rows.push_back(std::move(cells));
        };
        for (const auto& tensor : file.tensors) add(tensor);
        if (!file.total.is_null() && file.tensors.size() != 1) add(file.total);
        out += render_rows(rows, left);
    }
    return out;
}

// "|" would end a cell, and "_" or "*" inside words are left alone by all common dialects.
std::string markdown_cell(const Json& value) {
    std::string out;
    for (const char c : table_cell(value)) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

std::string render_markdown(const Report& report, const std::vector<std::string>& columns) {
    const std::vector<std::string> shown = with_places(report, columns);
    std::string head = "|", rule = "|";
    for (const auto& key : shown) head += " " + key + " |", rule += is_text(key) ? " --- |" : " ---: |";
    std::string out;
    for (const auto& file : report.files) {
        out += (out.empty() ? "" : "\n") + head + '\n' + rule + '\n';
        const auto add = [&](const Json& row) {
            out += '|';
            for (const auto& key : shown) out += ' ' + markdown_cell(value_of(row, key)) + " |";
            out += '\n';
        };
        for (const auto& tensor : file.tensors) add(tensor);
        if (!file.total.is_null() && file.tensors.size() != 1) add(file.total);
    }
    return out;
}

std::string render_csv(const Report& report) {
    std::vector<std::string> keys{"file"};
    for (const auto& file : report.files)
        for (const auto& tensor : file.tensors)
            for (const auto& [key, value] : tensor.items())
                if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    std::string out;
    for (const auto& key : keys) out += (out.empty() ? "" : ",") + key;
    out += '\n';
    for (const auto& file : report.files)
        for (const auto& tensor : file.tensors) {
            std::string line;
            for (std::size_t c = 0; c < keys.size(); ++c)
                line += (c ? "," : "") + csv_cell(value_of(c ? tensor : file.head, keys[c]));
            out += line + '\n';
        }
    return out;
}

std::string render_json(const Report& report) {
    Json out{{"schema", 1}, {"version", kVersion}, {"command", report.command}, {"files", Json::array()}};
    for (const auto& file : report.files) {
        Json entry = file.head;
        entry["tensors"] = file.tensors;
        entry["skipped"] = file.skipped;
        entry["total"] = file.total;
        out["files"].push_back(std::move(entry));
    }
    out["total"] = report.total;
    return out.dump(2, ' ', false, kReplace) + '\n';
}

}  // namespace

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json figures_json(const Figures& f) {
    return {{"elements", f.elements},
            {"ratio", optional_json(f.ratio)},
            {"ratio_fp32", optional_json(f.ratio_fp32)},
            {"ratio_fp16", optional_json(f.ratio_fp16)},
            {"bits_per_element", optional_json(f.bits_per_element)},
            {"entropy_bits", optional_json(f.entropy_bits)},
            {"nmse", optional_json(f.nmse)},
            {"cosine", optional_json(f.cosine)},
            {"snr_db", optional_json(f.snr_db)},
            {"max_abs_error", optional_json(f.max_abs_error)},
            {"bias", optional_json(f.bias)},
            {"sign_agreement", optional_json(f.sign_agreement)},
            {"zeros_in", optional_json(f.zeros_in)},
            {"zeros_out", optional_json(f.zeros_out)},
            {"nonzero_fraction", optional_json(f.nonzero_fraction)},
            {"nonzero_bound", optional_json(f.nonzero_bound)},
            {"nonfinite", f.nonfinite},
            {"escaped", f.escaped},
            {"flushed", f.flushed},
            {"variance_exact", optional_json(f.variance_exact)},
            {"variance_sd", optional_json(f.variance_sd)},
            {"variance_bound", optional_json(f.variance_bound)}};
}

Json bytes_json(const Bytes& b) {
    return {{"input_bytes", b.input},
            {"output_bytes", b.output},
            {"code_bytes", b.code},
            {"scale_bytes", b.scale},
            {"header_bytes", b.header}};
}

Json tensor_json(const TensorReport& t) {
    Json row{{"name", t.info.name},
             {"step", t.info.step},
             {"worker", t.info.worker},
             {"shape", t.info.shape},
             {"dtype", row_of(t.info.dtype).name},
             {"spec", t.spec},
             {"rule", rule_name(t.rule)},
             {"alphabet", t.alphabet ? Json(t.alphabet) : Json(nullptr)}};
    row.update(bytes_json(t.bytes));
    row.update(figures_json(make_figures(t.sums, t.bytes)));
    row["contraction_bound"] = nullptr;
    row["unbiased"] = t.unbiased;
    return row;
}

std::string rule_name(std::uint64_t rule) {
    static constexpr std::array<const char*, 4> kNames = {"-q", "dtype", "no gain", "--min-elements"};
    return rule < kNames.size() ? kNames[rule] : "policy line " + std::to_string(rule - kRulePolicy);
}

std::string render(const Report& report, ReportForm form, const std::vector<std::string>& shown) {
    switch (form) {
        case ReportForm::json: return render_json(report);
        case ReportForm::csv: return render_csv(report);
        case ReportForm::markdown: return render_markdown(report, shown);
        case ReportForm::table: break;
    }
    return render_table(report, shown);
}

Result<Done> write_text(const std::string& text, const std::string& path, bool force) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    GRADZ_TRY(auto output, formats::create(path, force, true));
    GRADZ_TRY([[maybe_unused]] auto written, output->write(bytes));
    return output->commit();
}

std::string human_bytes(std::uint64_t bytes) {
    static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) return std::to_string(bytes) + " B";
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1023.995 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 2).ptr;
    return std::string(text, end) + ' ' + kUnits[unit];
}

std::string human_number(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 4).ptr;
    return {text, end};
}

}  // namespace gradz::cli
