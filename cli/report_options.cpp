#include "report_options.hpp"

#include <filesystem>

#include "outputs.hpp"

namespace gradz::cli {

void add_report_options(CLI::App& app, ReportOptions& o, bool with_markdown) {
    const auto group = "Report";
    auto* json = app.add_flag("--json", o.json, "print JSON")->group(group);
    auto* csv = app.add_flag("--csv", o.csv, "print CSV, one row a tensor")->excludes(json)->group(group);
    if (with_markdown) {
        csv->description("print CSV, one row a spec");
        app.add_flag("--markdown", o.markdown, "print the table as Markdown")
            ->excludes(json)
            ->excludes(csv)
            ->group(group);
    }
    app.add_option("-o,--output", o.out, "write the report to FILE instead of stdout; .json and .csv choose the form")
        ->type_name("FILE")
        ->group(group);
    app.add_flag("-f,--force", o.force, "replace FILE")->group(group);
}

Result<Done> check_output(const ReportOptions& o, const std::vector<std::string>& inputs) {
    return check_report(o.out, inputs, o.force);
}

int emit(const Report& report, const ReportOptions& o, const std::vector<std::string>& shown,
         const std::string& before) {
    const auto extension = std::filesystem::path(o.out).extension();
    const bool asked = o.json || o.csv || o.markdown;
    const ReportForm form = o.json || (!asked && extension == ".json")     ? ReportForm::json
                            : o.csv || (!asked && extension == ".csv")     ? ReportForm::csv
                            : o.markdown || (!asked && extension == ".md") ? ReportForm::markdown
                                                                           : ReportForm::table;
    const std::string text = (form == ReportForm::table ? before : "") + render(report, form, shown);
    auto written = write_text(text, o.out, o.force);
    return written ? kOk : print_error(o.out == "-" ? "stdout" : o.out, written.error());
}

}  // namespace gradz::cli
