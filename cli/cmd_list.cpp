// gradz list FILE...: what is inside, without decoding.
#include <memory>

#include "command.hpp"
#include "dump.hpp"
#include "pipeline/shares.hpp"
#include "report_options.hpp"

namespace gradz::cli {
namespace {

struct ListOptions {
    FileOptions files;
    InputOptions input;
    ReportOptions report;
};

Json divide(double a, double b) { return b > 0 ? number_json(a / b) : Json(nullptr); }

// Tensor headers of a stream, by (name, step, worker): --include may have left some out.
FileReport list_dump(const Dump& dump) {
    FileReport out;
    out.head = {{"file", dump.file}, {"seed", nullptr}, {"format", nullptr}};
    if (const std::string* format = dump.origin.find("", "format")) out.head["format"] = *format;
    std::vector<std::uint64_t> shares;
    std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::size_t> places;
    if (dump.stream) {
        shares = output_shares(*dump.stream);
        out.head["seed"] = dump.stream->state.head.seed;
        out.head["stream_bytes"] = dump.stream->length;
        for (std::size_t t = 0; t < dump.stream->state.tensors.size(); ++t) {
            const TensorInfo& info = dump.stream->state.tensors[t].info;
            places[{info.name, info.step, info.worker}] = t;
        }
    }
    std::uint64_t elements = 0, input = 0, output = 0;
    for (const auto& info : dump.source->tensors()) {
        const std::uint64_t n = *info.numel(), bytes = n * size_of(info.dtype);
        Json row{{"name", info.name},
                 {"step", info.step},
                 {"worker", info.worker},
                 {"shape", info.shape},
                 {"dtype", row_of(info.dtype).name},
                 {"elements", n},
                 {"input_bytes", bytes}};
        if (dump.stream) {
            const std::size_t t = places[{info.name, info.step, info.worker}];
            const TensorHeader& header = dump.stream->state.tensors[t];
            row["output_bytes"] = shares[t];
            row["ratio"] = divide(static_cast<double>(bytes), static_cast<double>(shares[t]));
            row["spec"] = dump.stream->state.specs[header.spec];
            row["rule"] = rule_name(header.rule);
            output += shares[t];
        }
        elements += n, input += bytes;
        out.tensors.push_back(std::move(row));
    }
    out.total = {{"name", "total"}, {"tensors", out.tensors.size()}, {"elements", elements}, {"input_bytes", input}};
    if (dump.stream) {
        out.total["output_bytes"] = output;
        out.total["ratio"] = divide(static_cast<double>(input), static_cast<double>(output));
    }
    for (const auto& s : dump.skipped) out.skipped.push_back({{"name", s.name}, {"reason", s.reason}});
    return out;
}

int run(const ListOptions& opt) {
    auto files = expand(opt.files);
    if (!files) return print_error("list", files.error());
    if (auto usable = check_output(opt.report, *files); !usable) return print_error("list", usable.error());
    Report report{"list", {}, nullptr};
    int status = kOk;
    bool streams = false;
    for (const auto& file : *files) {
        auto dumps = open_dump(file, opt.input);
        if (!dumps) {
            status = std::max(status, print_error(file, dumps.error()));
            continue;
        }
        for (const auto& dump : *dumps) {
            print_notes(dump);
            streams |= dump.stream != nullptr;
            report.files.push_back(list_dump(dump));
        }
    }
    std::vector<std::string> shown{"name", "shape", "dtype", "elements", "input_bytes"};
    if (streams) shown.insert(shown.end(), {"output_bytes", "ratio", "rule", "spec"});
    return std::max(status, emit(report, opt.report, shown));
}

}  // namespace

void add_list(CLI::App& app, int& status) {
    auto opt = std::make_shared<ListOptions>();
    auto* cmd = app.add_subcommand("list", "Show what streams or dumps hold, without decoding");
    cmd->footer("Examples:\n  gradz list g.grz\n  gradz list g.grz --json | jq '.files[].tensors[].name'");
    cmd->option_defaults()->always_capture_default();
    add_file_options(*cmd, opt->files, "streams or dumps; - is stdin");
    add_input_options(*cmd, opt->input);
    add_report_options(*cmd, opt->report);
    cmd->callback([opt, &status] { status = run(*opt); });
}

}  // namespace gradz::cli
