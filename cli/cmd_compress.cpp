// gradz compress FILE...: every tensor of each dump into a stream.
// Only wiring: parse, open, encode, report. Numbers come from lib/, files from formats/.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "command.hpp"
#include "device.hpp"
#include "dump.hpp"
#include "formats/output_file.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "pipeline/decode.hpp"
#include "pipeline/encode.hpp"
#include "pipeline/scheme.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "verify.hpp"
#include "version.hpp"

namespace gradz::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct CompressOptions {
    FileOptions inputs;
    InputOptions input;
    OutputOptions output;
    RunOptions run;
    DeviceOptions device;
    std::string spec{kDefaultSpec}, stats, nonfinite = "keep";
    bool strict = false, fail_fast = false;
    EncodeOptions encode;
};

struct FileResult {
    DumpReport dump;
    std::size_t skipped = 0;
};

Json file_head(const std::string& file, const DumpReport& dump, std::uint64_t seed) {
    const TensorInfo& first = dump.tensors.front().info;
    Json step = first.step, worker = first.worker;
    for (const auto& t : dump.tensors) {
        if (t.info.step != first.step) step = nullptr;
        if (t.info.worker != first.worker) worker = nullptr;
    }
    return {{"file", file}, {"step", step}, {"worker", worker}, {"seed", seed}};
}

// Sums over sums; the container's bytes belong to the whole.
struct Total {
    Sums sums;
    Bytes bytes;
    std::uint64_t tensors = 0, container = 0;
    double seconds = 0;

    void add(const DumpReport& dump) {
        for (const auto& t : dump.tensors) sums.add_tensor(t.sums), bytes.add(t.bytes);
        tensors += dump.tensors.size();
        container += dump.container_bytes, bytes.output += dump.container_bytes;
    }
    Json json() const {
        Json row{{"name", "total"}, {"tensors", tensors}};
        row.update(bytes_json(bytes));
        row["container_bytes"] = container;
        row.update(figures_json(make_figures(sums, bytes)));
        row["seconds"] = number_json(seconds);
        row["gigabytes_per_second"] = number_json(static_cast<double>(bytes.input) / seconds * 1e-9);
        return row;
    }
};

std::string figure(const std::optional<double>& value) { return value ? human_number(*value) : "-"; }

// step.npz: 1.23 MiB -> 123.45 KiB, ratio 10.1, 3.17 bits/element, NMSE 0.0834 (bound 0.35), 0.01 s;
// with --stats (expected 0.0833, bound 0.35)
std::string summary_line(const std::string& file, const Total& total) {
    const Figures f = make_figures(total.sums, total.bytes);
    std::string line = printable(file) + ": " + human_bytes(total.bytes.input) + " -> " +
                       human_bytes(total.bytes.output) + ", ratio " + figure(f.ratio) + ", " +
                       figure(f.bits_per_element) + " bits/element, NMSE " + figure(f.nmse);
    if (f.variance_bound)
        line += " (" + (f.variance_exact ? "expected " + figure(f.variance_exact) + ", " : "") + "bound " +
                figure(f.variance_bound) + ")";
    if (f.escaped > 0) line += ", " + std::to_string(f.escaped) + " elements stored exactly";
    if (f.nonfinite > 0) line += ", " + std::to_string(f.nonfinite) + " not finite";
    return line + ", " + human_number(total.seconds) + " s\n";
}

// -v: the same for every tensor, with the rule that chose its spec.
std::string tensor_lines(const DumpReport& dump) {
    std::string lines;
    for (const auto& t : dump.tensors) {
        const Figures f = make_figures(t.sums, t.bytes);
        lines += "  " + printable(t.info.name) + ": ratio " + figure(f.ratio) + ", " + figure(f.bits_per_element) +
                 " bits/element, NMSE " + figure(f.nmse) + ", " + t.spec + " (" + rule_name(t.rule) + ")\n";
    }
    return lines;
}

std::string large_errors_line(const std::string& file, const DumpReport& dump) {
    std::size_t count = 0;
    const TensorReport* first = nullptr;
    for (const auto& t : dump.tensors) {
        const auto nmse = make_figures(t.sums, t.bytes).nmse;
        if (nmse && *nmse > 1) first = first ? first : &t, ++count;
    }
    if (!first) return "";
    return warning_line(file, "NMSE is above 1 in " + std::to_string(count) + " of " +
                                  std::to_string(dump.tensors.size()) + " tensors (first: " + first->info.name +
                                  "): sending zeros would be better");
}

class Counted : public ByteSink {
public:
    explicit Counted(ByteSink& sink) : sink_(sink) {}
    std::uint64_t bytes = 0;

    Result<Done> write(std::span<const std::byte> more) override {
        bytes += more.size();
        return sink_.write(more);
    }

private:
    ByteSink& sink_;
};

class Compress {
public:
    explicit Compress(CompressOptions& options) : opt_(options) {}

    int run() {
        auto spec = resolve_spec(opt_.spec);
        if (!spec) return print_error("-q", spec.error());
        opt_.encode.spec = *spec;
        if (auto scheme = Scheme::make(*spec); !scheme) return print_error("-q", scheme.error());
        auto files = expand(opt_.inputs);
        if (!files) return print_error("compress", files.error());
        if (auto usable = check_options(*files); !usable) return print_error("compress", usable.error());
        auto device = open_device(opt_.device);
        if (!device) return print_error("compress", device.error());
        opt_.encode.device = *device;
        opt_.encode.threads = thread_count(opt_.run);
        opt_.encode.stats = !opt_.stats.empty() ? StatsLevel::full
                            : opt_.run.quiet    ? StatsLevel::none
                                                : StatsLevel::error;
        report_.command = "compress -q " + print_spec(*spec);
        return opt_.output.joined() ? run_joined(*files) : run_each(*files);
    }

private:
    Result<Done> check_options(const std::vector<std::string>& files) {
        const auto usage = [](const char* what, const char* where) {
            return Error{Errc::invalid_argument, what, where};
        };
        const OutputOf output_of = [&](const std::string& file) { return opt_.output.beside(file, ".grz"); };
        GRADZ_TRY([[maybe_unused]] auto outputs, check(opt_.output, files, output_of));
        const bool partial = !opt_.input.include.empty() || !opt_.input.exclude.empty() || opt_.nonfinite == "zero";
        if (opt_.output.remove && partial)
            return usage("what --include, --exclude or --nonfinite zero leave out would be lost", "--rm");
        if (opt_.output.to_stdout && opt_.stats == "-")
            return usage("the stream and --stats cannot both go to stdout", "--stats");
        std::vector<std::string> others = files;
        if (opt_.output.joined()) others.push_back(opt_.output.target());
        else
            for (const auto& file : files) others.push_back(output_of(file));
        return check_report(opt_.stats, others, opt_.output.force);
    }

    // Lines about what is done are told when it is on disk.
    void tell() {
        std::fputs(told_.c_str(), stderr);
        told_.clear();
    }

    // One output for all inputs: the bytes of cat of the single results.
    int run_joined(const std::vector<std::string>& files) {
        auto output = formats::create(opt_.output.target(), opt_.output.force, opt_.output.asked());
        if (!output) return print_error(opt_.output.target(), output.error());
        if (files.size() == 1) (*output)->copy_times(files[0]);
        int status = kOk;
        for (const auto& file : files) {
            Counted counted(**output);
            auto done = compress(file, counted);
            if (!done) status = std::max(status, print_error(file, done.error()));
            if (strict_failure_) return kFailed;
            // A pipe goes on where a bad input gave it nothing; a file would not be what was asked for.
            if (!done && (!opt_.output.to_stdout || counted.bytes > 0 || opt_.fail_fast)) return status;
        }
        if (auto done = (*output)->commit(); !done) return print_error(opt_.output.target(), done.error());
        tell();
        if (status != kOk) return std::max(status, write_stats());
        for (const auto& file : files) status = std::max(status, remove_input(file, opt_.output.target()));
        return std::max(status, write_stats());
    }

    // One bad input of several does not stop the others: the worst status wins.
    int run_each(const std::vector<std::string>& files) {
        int status = kOk;
        for (const auto& file : files) {
            if (status != kOk && opt_.fail_fast) break;
            status = std::max(status, run_one(file));
        }
        return std::max(status, write_stats());
    }

    int run_one(const std::string& file) {
        const std::string target = opt_.output.beside(file, ".grz");
        auto output = formats::create(target, opt_.output.force);
        if (!output) return print_error(target, output.error());
        (*output)->copy_times(file);
        if (auto done = compress(file, **output); !done) return print_error(file, done.error());
        if (strict_failure_) return kFailed;
        if (auto done = (*output)->commit(); !done) return print_error(target, done.error());
        tell();
        return remove_input(file, target);
    }

    Result<Done> compress(const std::string& file, ByteSink& sink) {
        const auto begin = Clock::now();
        strict_failure_ = false;
        identities_[file] = identity_of(file);
        GRADZ_TRY(auto dump, open_tensor_file(file, opt_.input));
        std::uint64_t bytes = 0;
        for (const auto& info : dump.source->tensors()) {
            GRADZ_TRY(const auto elements, info.numel());
            bytes += elements * size_of(info.dtype);
        }
        Progress progress(file, bytes, !opt_.run.quiet && !opt_.run.no_progress);
        opt_.encode.progress = [&](std::uint64_t more) { progress.add(more); };
        Origin origin = dump.origin;
        origin.set("", "writer", std::string("gradz ") + kVersion);
        GRADZ_TRY(const auto encoded, encode_dump(*dump.source, origin, opt_.encode, sink));
        progress.clear();
        print_notes(dump);
        skipped_[file] = dump.skipped.size();
        strict_failure_ = opt_.strict && !dump.skipped.empty();
        Total total;
        total.add(encoded);
        total.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        if (!opt_.run.quiet) {
            told_ += summary_line(file, total);
            if (opt_.run.verbose > 0) told_ += tensor_lines(encoded);
            told_ += large_errors_line(file, encoded);
        }
        if (!opt_.stats.empty()) collect(file, dump, encoded, total);
        return Done{};
    }

    void collect(const std::string& file, const Dump& dump, const DumpReport& encoded, const Total& total) {
        FileReport out;
        out.head = file_head(file, encoded, opt_.encode.seed);
        for (const auto& t : encoded.tensors) out.tensors.push_back(tensor_json(t));
        for (const auto& s : dump.skipped) out.skipped.push_back({{"name", s.name}, {"reason", s.reason}});
        out.total = total.json();
        total_.add(encoded);
        total_.seconds += total.seconds;
        report_.files.push_back(std::move(out));
    }

    // The report of what was done, also where one of several inputs was bad.
    int write_stats() {
        if (opt_.stats.empty()) return kOk;
        report_.total = report_.files.empty() ? Json() : total_.json();
        const bool csv = std::filesystem::path(opt_.stats).extension() == ".csv";
        const auto text = render(report_, csv ? ReportForm::csv : ReportForm::json, {});
        auto written = write_text(text, opt_.stats, opt_.output.force);
        return written ? kOk : print_error(opt_.stats, written.error());
    }

    // --rm: only what can be read back in full, and nothing of which was skipped.
    int remove_input(const std::string& file, const std::string& target) {
        if (!opt_.output.remove) return kOk;
        if (skipped_[file] > 0) {
            print_warning(file, "kept: parts of it were skipped");
            return kOk;
        }
        return remove_verified(file, identities_[file], target, opt_.encode.threads);
    }

    CompressOptions& opt_;
    Report report_;
    Total total_;
    std::map<std::string, std::size_t> skipped_;
    std::map<std::string, Identity> identities_;  // before they were read
    std::string told_;
    bool strict_failure_ = false;
};

constexpr char kCompressFooter[] =
    "Examples:\n"
    "  gradz compress step_000100.h5                          writes step_000100.h5.grz\n"
    "  gradz compress step_*.npz -q nuqsgd:bits=3,norm=linf   one stream beside each\n"
    "  gradz compress g.npy -q qsgd:bits=4+elias -o g.grz --stats g.json\n"
    "  gradz compress g.h5 -c | ssh host 'cat > g.grz'        into a pipe\n"
    "  gradz compress - --raw f32 --shape 512,512 -c < w.bin > w.grz";

}  // namespace

void add_compress(CLI::App& app, int& status) {
    auto opt = std::make_shared<CompressOptions>();
    auto* cmd = app.add_subcommand("compress", "Compress the tensors of dumps");
    cmd->footer(kCompressFooter);
    cmd->option_defaults()->always_capture_default();  // --help shows the defaults
    add_file_options(*cmd, opt->inputs, "dumps: npy, npz, HDF5, safetensors; a folder is one dump; - is stdin");
    cmd->add_option("-q,--spec", opt->spec, "name:key=value,..+coder; `gradz levels SPEC` shows its levels")
        ->type_name("SPEC");
    auto& encode = opt->encode;
    add_whole(
        *cmd, "--seed", [&encode](std::uint64_t n) { encode.seed = n; }, "key of the random rounding")
        ->type_name("N")
        ->default_str("0");
    add_whole(
        *cmd, "--min-elements", [&encode](std::uint64_t n) { encode.min_elements = n; },
        "smaller tensors stay lossless")
        ->type_name("N")
        ->default_str("0");
    cmd->add_option("--nonfinite", opt->nonfinite, "NaN and infinity: keep exactly, refuse, or replace by zero")
        ->check(CLI::IsMember({"keep", "error", "zero"}));
    cmd->add_option("--stats", opt->stats,
                    "write all statistics to FILE: CSV if it ends in .csv, else JSON; - is stdout")
        ->type_name("FILE");
    cmd->add_flag("--strict", opt->strict, "a skipped object is an error");
    cmd->add_flag("--fail-fast", opt->fail_fast, "stop at the first bad input");
    add_output_options(*cmd, opt->output);
    add_input_options(*cmd, opt->input);
    add_run_options(*cmd, opt->run, true);
    add_device_option(*cmd, opt->device);
    cmd->callback([opt, &status] {
        opt->encode.nonfinite = opt->nonfinite == "keep"    ? NonFinite::keep
                                : opt->nonfinite == "error" ? NonFinite::error
                                                            : NonFinite::zero;
        if (auto memory = parse_size(opt->input.memory)) opt->encode.memory = *memory;
        status = Compress(*opt).run();
    });
}

}  // namespace gradz::cli
