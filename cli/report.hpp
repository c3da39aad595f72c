// Statistics as text: one line for people, a table, JSON or CSV for programs. Keys are the
// same everywhere (gradz(1), STATISTICS).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.hpp"
#include "core/error.hpp"
#include "formats/tensor_reader.hpp"
#include "pipeline/encode.hpp"
#include "stats/figures.hpp"

namespace gradz::cli {

using Json = nlohmann::ordered_json;

enum class ReportForm : std::uint8_t { table, json, csv, markdown };

// One file of a report: what JSON calls an element of "files".
struct FileReport {
    Json head = Json::object();  // file, step, worker, seed
    std::vector<Json> tensors;   // one object a row
    Json skipped = Json::array();
    Json total;  // null if there is none
};

struct Report {
    std::string command;
    std::vector<FileReport> files;
    Json total;
};

// The keys of one tensor or total. Non-finite figures are null.
Json tensor_json(const TensorReport& tensor);
Json figures_json(const Figures& figures);
Json bytes_json(const Bytes& bytes);

// How `rule` of a tensor header reads: "-q", "dtype", "no gain", "--min-elements", "policy line 3".
std::string rule_name(std::uint64_t rule);

// A finite number, or null.
Json number_json(double value);

// shown: the columns of the table (and of Markdown), in order; JSON and CSV have all keys.
std::string render(const Report& report, ReportForm form, const std::vector<std::string>& shown);

// To stdout ("-") or atomically to a file.
Result<Done> write_text(const std::string& text, const std::string& path, bool force);

// "1.234 MiB", "12.3", "0.0834": for people; the same in every locale.
std::string human_bytes(std::uint64_t bytes);
std::string human_number(double value);

}  // namespace gradz::cli
