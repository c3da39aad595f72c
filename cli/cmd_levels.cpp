// gradz levels SPEC: the table that a quantizer rounds onto.
#include <charconv>
#include <memory>

#include "command.hpp"
#include "pipeline/scheme.hpp"
#include "report_options.hpp"

namespace gradz::cli {
namespace {

struct LevelsOptions {
    std::string spec;
    ReportOptions report;
};

Json level_row(std::uint64_t index, float level, Json symbols) {
    char shortest[32];
    const auto end = std::to_chars(shortest, shortest + sizeof shortest, level).ptr;
    return {{"level", index}, {"value", std::string(shortest, end)}, {"symbols", std::move(symbols)}};
}

int run(const LevelsOptions& opt) {
    auto spec = resolve_spec(opt.spec);
    if (!spec) return print_error("levels", spec.error());
    auto scheme = Scheme::make(*spec);
    if (!scheme) return print_error("levels", scheme.error());
    const auto& quantizer = (*scheme)->quantizer;
    if (!quantizer || !quantizer->has_scales())
        return print_error("levels", {Errc::invalid_argument, "'" + spec->front().name + "' has no levels", "spec"});
    FileReport table;
    table.head = {{"spec", (*scheme)->text}, {"alphabet", quantizer->alphabet()}};
    const auto levels = quantizer->levels();
    for (std::size_t k = 0; k < levels.size(); ++k) {
        Json symbols = std::to_string(k);
        if (quantizer->kind() == SymbolKind::magnitudes && k > 0)
            symbols = std::to_string(2 * k - 1) + ", " + std::to_string(2 * k);
        table.tensors.push_back(level_row(k, levels[k], symbols));
    }
    Report report{"levels " + (*scheme)->text, {table}, nullptr};
    return emit(report, opt.report, {"level", "value", "symbols"});
}

constexpr char kLevelsFooter[] =
    "A level is a value of |v| / scale; its two symbols are + and - (with zero=no: v / scale, one symbol).\n"
    "Examples:\n"
    "  gradz levels nuqsgd:bits=4\n"
    "  gradz levels qsgd:s=16 --json";

}  // namespace

void add_levels(CLI::App& app, int& status) {
    auto opt = std::make_shared<LevelsOptions>();
    auto* cmd = app.add_subcommand("levels", "Print the level table of a spec");
    cmd->footer(kLevelsFooter);
    cmd->add_option("SPEC", opt->spec, "name:key=value,..")->required();
    add_report_options(*cmd, opt->report);
    cmd->callback([opt, &status] { status = run(*opt); });
}

}  // namespace gradz::cli
