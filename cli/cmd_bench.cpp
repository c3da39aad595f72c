// gradz bench FILE...: how fast specs encode and decode these files, in memory.
#include <filesystem>
#include <limits>
#include <memory>

#include "command.hpp"
#include "core/parallel.hpp"
#include "device.hpp"
#include "pipeline/scheme.hpp"
#include "progress.hpp"
#include "report_options.hpp"
#include "throughput.hpp"

namespace gradz::cli {
namespace {

struct BenchOptions {
    FileOptions files;
    InputOptions input;
    RunOptions run;
    DeviceOptions device;
    ReportOptions report;
    std::vector<std::string> words;  // of -q
    std::string stats = "none";
    bool strict = false, fail_fast = false;
    ThroughputOptions throughput;
};

// -q takes several words, and a FILE may stand behind them: what is no spec but is there is a FILE.
Result<std::vector<Spec>> specs_of(std::vector<std::string> words, std::vector<std::string>& files) {
    std::vector<Spec> specs;
    if (words.empty()) words.emplace_back(kDefaultSpec);
    for (const auto& word : words) {
        auto spec = resolve_spec(word);
        std::error_code ec;
        if (!spec && (word == "-" || std::filesystem::exists(word, ec))) {
            files.push_back(word);
            continue;
        }
        if (!spec) return spec.error();
        GRADZ_TRY([[maybe_unused]] auto scheme, Scheme::make(*spec));
        specs.push_back(std::move(*spec));
    }
    if (specs.empty()) {  // "-q FILE": say what is missing, rather than measure what was not asked for
        return Error{Errc::invalid_argument, "'" + words.front() + "' is a file and no spec", ""};
    }
    return specs;
}

void put_rate(Json& row, const std::string& key, const Rate& rate) {
    row[key] = number_json(rate.median);
    row[key + "_min"] = number_json(rate.min);
    row[key + "_max"] = number_json(rate.max);
}

class Bench {
public:
    explicit Bench(BenchOptions& options) : opt_(options) {}

    int run() {
        auto specs = specs_of(opt_.words, opt_.files.files);
        if (!specs) return print_error("-q", specs.error());
        auto files = expand(opt_.files);
        if (!files) return print_error("bench", files.error());
        if (auto usable = check_output(opt_.report, *files); !usable) return print_error("bench", usable.error());
        auto& encode = opt_.throughput.encode;
        auto device = open_device(opt_.device);
        if (!device) return print_error("bench", device.error());
        encode.device = *device;
        encode.threads = thread_count(opt_.run);
        encode.stats = opt_.stats == "full"    ? StatsLevel::full
                       : opt_.stats == "error" ? StatsLevel::error
                                               : StatsLevel::none;
        int status = kOk;
        for (const auto& file : *files) {
            if (status != kOk && opt_.fail_fast) break;
            status = std::max(status, open(file));
        }
        if (dumps_.empty() || (status != kOk && opt_.fail_fast)) return status;
        auto done = measure(*specs);
        if (!done) return std::max(status, print_error(names_.size() == 1 ? names_[0] : "bench", done.error()));
        return std::max(
            status, emit(report_, opt_.report,
                         {"spec", "ratio", "bits_per_element", "nmse", "encode_gb_s", "decode_gb_s", "memcpy_gb_s"}));
    }

private:
    int open(const std::string& file) {
        auto dumps = open_dump(file, opt_.input);
        if (!dumps) return print_error(file, dumps.error());
        for (auto& dump : *dumps) {
            print_notes(dump);
            if (opt_.strict && !dump.skipped.empty()) return kFailed;
            for (const auto& s : dump.skipped)
                out_.skipped.push_back({{"file", file}, {"name", s.name}, {"reason", s.reason}});
            dumps_.push_back(std::move(dump));
        }
        names_.push_back(file);
        return kOk;
    }

    Result<Done> measure(const std::vector<Spec>& specs) {
        GRADZ_TRY(const auto memory, parse_size(opt_.input.memory));
        opt_.throughput.encode.memory = memory;
        GRADZ_TRY(auto load, Workload::make(std::move(dumps_), memory));
        const std::uint64_t passes =
            specs.size() * Workload::passes(opt_.throughput) + static_cast<std::uint64_t>(opt_.throughput.runs) + 1;
        Progress progress("bench", load.bytes() * passes, !opt_.run.quiet && !opt_.run.no_progress);
        opt_.throughput.progress = [&](std::uint64_t bytes) { progress.add(bytes); };
        GRADZ_TRY(const auto copy, load.copy_rate(opt_.throughput));
        for (const auto& spec : specs) {
            GRADZ_TRY(const auto measured, load.measure(spec, opt_.throughput));
            out_.tensors.push_back(row(spec, measured, copy));
        }
        const int threads = opt_.throughput.encode.threads;
        if (names_.size() == 1) out_.head["file"] = names_[0];
        out_.head["inputs"] = names_;
        out_.head["seed"] = opt_.throughput.encode.seed;
        out_.head["device"] = opt_.throughput.encode.device == &cpu_device() ? "cpu" : "cuda";
        out_.head["threads"] = threads ? threads : available_threads();
        report_ = {"bench", {std::move(out_)}, nullptr};
        return Done{};
    }

    Json row(const Spec& spec, const Throughput& t, const Rate& copy) const {
        Json row{{"spec", print_spec(spec)}, {"tensors", t.tensors}};
        row.update(bytes_json(t.bytes));
        row["container_bytes"] = t.container_bytes;
        row.update(figures_json(make_figures(t.sums, t.bytes)));
        row["stats"] = opt_.stats;
        row["runs"] = opt_.throughput.runs;
        put_rate(row, "encode_gb_s", t.encode);
        put_rate(row, "decode_gb_s", t.decode);
        put_rate(row, "memcpy_gb_s", copy);
        return row;
    }

    BenchOptions& opt_;
    std::vector<Dump> dumps_;
    std::vector<std::string> names_;
    FileReport out_;
    Report report_;
};

constexpr char kBenchFooter[] =
    "Nothing is written but the report: streams are made in memory and decoded from it, and what comes\n"
    "back is checked. GB/s are 10^9 bytes of input a second, the median of --runs after one that warms up.\n"
    "Examples:\n"
    "  gradz bench step_000100.h5                                      the default spec\n"
    "  gradz bench run/*.npz -q nuqsgd+fixed qsgd:bits=3+elias         one row a spec, over all files\n"
    "  gradz bench g.npy -q nuqsgd+fixed -T 1 --stats full --json";

}  // namespace

void add_bench(CLI::App& app, int& status) {
    auto opt = std::make_shared<BenchOptions>();
    auto* cmd = app.add_subcommand("bench", "Measure how fast specs encode and decode files");
    cmd->footer(kBenchFooter);
    cmd->option_defaults()->always_capture_default();
    add_file_options(*cmd, opt->files, "dumps or streams; - is stdin");
    cmd->add_option("-q,--spec", opt->words, "specs to measure (default nuqsgd); also several times")
        ->type_name("SPEC")
        ->expected(1, std::numeric_limits<int>::max())
        ->always_capture_default(false);
    auto& throughput = opt->throughput;
    cmd->add_option("--runs", throughput.runs, "timed runs a spec")->type_name("N")->check(CLI::Range(1, 1000000));
    cmd->add_option("--stats", opt->stats, "statistics that are gathered while encoding is timed")
        ->check(CLI::IsMember({"none", "error", "full"}));
    add_whole(
        *cmd, "--seed", [&throughput](std::uint64_t n) { throughput.encode.seed = n; }, "key of the random rounding")
        ->type_name("N")
        ->default_str("0");
    cmd->add_flag("--strict", opt->strict, "a skipped object is an error");
    cmd->add_flag("--fail-fast", opt->fail_fast, "stop at the first bad input");
    add_input_options(*cmd, opt->input);
    add_report_options(*cmd, opt->report, true);
    add_run_options(*cmd, opt->run);
    add_device_option(*cmd, opt->device);
    cmd->callback([opt, &status] { status = Bench(*opt).run(); });
}

}  // namespace gradz::cli
