// How the reporting commands print: a table, --json or --csv, on stdout or to -o FILE.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "report.hpp"

namespace gradz::cli {

struct ReportOptions {
    bool json = false, csv = false, markdown = false, force = false;
    std::string out = "-";
};
// with_markdown: --markdown too, for reports that go into a document.
void add_report_options(CLI::App& app, ReportOptions& options, bool with_markdown = false);

// Errc::invalid_argument or exists if -o would replace an input, or anything without -f.
Result<Done> check_output(const ReportOptions& options, const std::vector<std::string>& inputs);

// Renders and writes; a form that was not asked for follows the extension of -o (.json,
// .csv, .md), else the table. Returns the exit status.
// `before` stands above a table.
int emit(const Report& report, const ReportOptions& options, const std::vector<std::string>& shown,
         const std::string& before = "");

}  // namespace gradz::cli
