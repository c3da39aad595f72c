// gradz stats FILE...: describes tensors.
#include <memory>

#include "command.hpp"
#include "dump.hpp"
#include "pipeline/describe.hpp"
#include "report_options.hpp"

namespace gradz::cli {
namespace {

struct StatsOptions {
    FileOptions files;
    InputOptions input;
    RunOptions run;
    ReportOptions report;
    bool strict = false, fail_fast = false;
};

Json moments_json(const TensorInfo& info, const MomentFigures& m) {
    const auto figure = [](const std::optional<double>& v) { return v ? number_json(*v) : Json(nullptr); };
    return {{"name", info.name},
            {"step", info.step},
            {"worker", info.worker},
            {"shape", info.shape},
            {"dtype", row_of(info.dtype).name},
            {"elements", m.count},
            {"zeros_in", m.zeros},
            {"nan", m.nan},
            {"inf", m.inf},
            {"nonfinite", m.nan + m.inf},
            {"l1", figure(m.l1)},
            {"l2", figure(m.l2)},
            {"linf", figure(m.linf)},
            {"mean", figure(m.mean)},
            {"std", figure(m.std)},
            {"min", figure(m.min)},
            {"max", figure(m.max)},
            {"skewness", figure(m.skewness)},
            {"kurtosis", figure(m.kurtosis)},
            {"smallest", figure(m.smallest)},
            {"dynamic_range", figure(m.dynamic_range)},
            {"p1", figure(m.p1)},
            {"p10", figure(m.p10)},
            {"p50", figure(m.p50)},
            {"p90", figure(m.p90)},
            {"p99", figure(m.p99)}};
}

Result<Done> describe(Dump& dump, const StatsOptions& opt, Report& report) {
    GRADZ_TRY(const auto moments, describe_dump(*dump.source, thread_count(opt.run)));
    FileReport out;
    out.head = {{"file", dump.file}};
    for (std::size_t t = 0; t < moments.size(); ++t)
        out.tensors.push_back(moments_json(dump.source->tensors()[t], moments[t].figures()));
    for (const auto& s : dump.skipped) out.skipped.push_back({{"name", s.name}, {"reason", s.reason}});
    report.files.push_back(std::move(out));
    return Done{};
}

int run_file(const std::string& file, const StatsOptions& opt, Report& report) {
    auto dumps = open_dump(file, opt.input);
    if (!dumps) return print_error(file, dumps.error());
    for (auto& dump : *dumps) {
        if (auto described = describe(dump, opt, report); !described) return print_error(file, described.error());
        print_notes(dump);
        if (opt.strict && !dump.skipped.empty()) return kFailed;
    }
    return kOk;
}

int run(const StatsOptions& opt) {
    auto files = expand(opt.files);
    if (!files) return print_error("stats", files.error());
    if (auto usable = check_output(opt.report, *files); !usable) return print_error("stats", usable.error());
    Report report{"stats", {}, nullptr};
    int status = kOk;
    for (const auto& file : *files) {
        if (status != kOk && opt.fail_fast) break;
        status = std::max(status, run_file(file, opt, report));
    }
    if (report.files.empty()) return status;
    return std::max(status, emit(report, opt.report,
                                 {"name", "shape", "dtype", "elements", "l2", "linf", "mean", "std", "kurtosis",
                                  "zeros_in", "nonfinite", "p50", "p99"}));
}

}  // namespace

void add_stats(CLI::App& app, int& status) {
    auto opt = std::make_shared<StatsOptions>();
    auto* cmd = app.add_subcommand("stats", "Describe tensors: norms, moments, zeros, quantiles of the magnitude");
    cmd->footer("Examples:\n  gradz stats step_000100.h5\n  gradz stats --csv run/*.npz -o run.csv");
    cmd->option_defaults()->always_capture_default();
    add_file_options(*cmd, opt->files, "dumps or streams; - is stdin");
    cmd->add_flag("--strict", opt->strict, "a skipped object is an error");
    cmd->add_flag("--fail-fast", opt->fail_fast, "stop at the first bad input");
    add_input_options(*cmd, opt->input);
    add_report_options(*cmd, opt->report);
    add_run_options(*cmd, opt->run);
    cmd->callback([opt, &status] { status = run(*opt); });
}

}  // namespace gradz::cli
