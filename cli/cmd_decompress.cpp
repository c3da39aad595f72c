// gradz decompress FILE...: streams back to tensor files.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>

#include "command.hpp"
#include "device.hpp"
#include "dump.hpp"
#include "formats/tensor_writer.hpp"
#include "kernels/dispatch.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "pipeline/copy.hpp"
#include "pipeline/decode.hpp"
#include "progress.hpp"
#include "quant/convert.hpp"
#include "report.hpp"
#include "verify.hpp"

namespace gradz::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct DecompressOptions {
    FileOptions inputs;
    InputOptions input;
    OutputOptions output;
    RunOptions run;
    DeviceOptions device;
    std::string to, dtype, slice;
    bool fail_fast = false;
};

// What was asked for, parsed.
struct Plan {
    std::optional<formats::Format> to;
    std::optional<DType> dtype;
    Slice slice;
    formats::WriteOptions write;
    int threads = 0;
};

Result<std::uint64_t> parse_bound(std::string_view text, std::uint64_t fallback) {
    std::uint64_t value = fallback;
    if (text.empty()) return value;
    const auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc{} || stop != text.data() + text.size())
        return Error{Errc::invalid_argument, "'" + std::string(text) + "' is no row, want A:B with A, B >= 0",
                     "--slice"};
    return value;
}

Result<Slice> parse_slice(const std::string& text) {
    if (text.empty()) return Slice{};
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos)
        return Error{Errc::invalid_argument, "'" + text + "' is no slice, want A:B", "--slice"};
    Slice slice;
    GRADZ_TRY(slice.begin, parse_bound(std::string_view(text).substr(0, colon), 0));
    GRADZ_TRY(slice.end, parse_bound(std::string_view(text).substr(colon + 1), UINT64_MAX));
    return slice;
}

std::optional<formats::Format> format_by_extension(const fs::path& path) {
    const std::string extension = path.extension().string();
    if (extension.empty()) return std::nullopt;
    auto format = formats::format_of(std::string_view(extension).substr(1));
    return format ? std::optional(*format) : std::nullopt;
}

// Writes tensors as they come, in the dtype that was asked for. The target and its format
// are decided when the origin is known.
class Target {
public:
    Target(const Plan& plan, std::string path, bool named) : plan_(plan), path_(std::move(path)), named_(named) {}

    Result<Done> begin(const Origin& origin) {
        if (writer_) return further(origin);
        const std::string* from = origin.find("", "format");
        std::optional<formats::Format> format = plan_.to;
        if (const auto by_name = format_by_extension(path_); !format && named_ && by_name) format = *by_name;
        if (!format && from && *from == "folder") {
            GRADZ_TRY(writer_, formats::create_folder(path_, origin, plan_.write));
            return Done{};
        }
        if (!format && from)
            if (const auto by_origin = formats::format_of(*from); by_origin) format = *by_origin;
        if (!format && from && *from == "raw") format = formats::Format::npy;
        if (!format) return Error{Errc::invalid_argument, "the stream does not say what it was: use --to", ""};
        // Beside the input, a file of another format than before gets another extension.
        if (!named_ && from && *from != formats::name_of(*format)) path_ = renamed(*format);
        single_names_ = *format != formats::Format::npy;
        GRADZ_TRY(writer_, formats::create_tensors(path_, *format, origin, plan_.write));
        return Done{};
    }

    Result<Done> add(std::span<const TensorInfo> more) {
        std::vector<TensorInfo> infos;
        for (const auto& info : more) {
            GRADZ_TRY(auto out, sliced(info, plan_.slice));
            if (single_names_ && !names_.insert(info.name).second)
                return Error{Errc::unsupported,
                             "this tensor comes twice (of two steps, workers or streams), and one file takes it once: "
                             "--to npy makes a folder, --include and separate runs other files",
                             "tensor " + info.name};
            from_.push_back(info.dtype);
            if (plan_.dtype && quantizable(info.dtype)) out.dtype = *plan_.dtype;
            infos.push_back(std::move(out));
        }
        return writer_->add(infos);
    }

    Result<Done> write(std::size_t tensor, std::uint64_t first, std::span<const std::byte> bytes) {
        const DType from = from_[tensor];
        output_bytes_ += bytes.size();
        if (!plan_.dtype || !quantizable(from) || from == *plan_.dtype) return writer_->write(tensor, first, bytes);
        GRADZ_TRY(const kernels::Kernels* const kernels, kernels::active());
        values_.resize(bytes.size() / size_of(from));
        converted_.resize(values_.size() * size_of(*plan_.dtype));
        to_float32(*kernels, from, bytes, values_);
        from_float32(*kernels, *plan_.dtype, values_, converted_);
        return writer_->write(tensor, first, converted_);
    }

    // Warnings are told here: what failed is told in one line, its error.
    Result<Done> commit() {
        GRADZ_TRY([[maybe_unused]] auto done, writer_->commit());
        if (dropped_) print_warning(path_, "groups, attributes and layouts of all streams but the first are not kept");
        return Done{};
    }
    const std::string& path() const { return path_; }
    std::uint64_t output_bytes() const { return output_bytes_; }
    std::size_t tensors() const { return from_.size(); }

private:
    // A further stream: its tensors join, what restores its file has no place beside the first one's.
    Result<Done> further(const Origin& origin) {
        const auto matters = [](const OriginEntry& e) { return e.key != "format" && e.key != "writer"; };
        dropped_ = dropped_ || std::any_of(origin.entries.begin(), origin.entries.end(), matters);
        return Done{};
    }

    std::string renamed(formats::Format format) const {
        if (path_ == "-") return path_;
        fs::path path(path_);
        const std::string extension = format == formats::Format::hdf5 ? "h5" : std::string(formats::name_of(format));
        if (format_by_extension(path)) path.replace_extension();
        return path.string() + "." + extension;
    }

    const Plan& plan_;
    std::string path_;
    bool named_;
    std::unique_ptr<formats::TensorWriter> writer_;
    bool single_names_ = false, dropped_ = false;
    std::set<std::string> names_;
    std::vector<DType> from_;
    std::vector<float> values_;
    std::vector<std::byte> converted_;
    std::uint64_t output_bytes_ = 0;
};

// All of a stream, forward: works on pipes and verifies every byte.
class Forward : public DecodeSink {
public:
    Forward(Target& target, Progress& progress) : target_(target), progress_(progress) {}

    Result<Done> begin(const StreamHead&, const Origin& origin) override {
        base_ = target_.tensors();
        return target_.begin(origin);
    }
    Result<Done> add(std::span<const TensorHeader> more) override {
        std::vector<TensorInfo> infos;
        for (const auto& header : more) infos.push_back(header.info);
        return target_.add(infos);
    }
    bool wants(std::uint64_t) const override { return true; }
    Result<Done> write(std::uint64_t tensor, std::uint64_t first, std::span<const std::byte> bytes) override {
        progress_.add(bytes.size());
        return target_.write(base_ + tensor, first, bytes);
    }

private:
    Target& target_;
    Progress& progress_;
    std::size_t base_ = 0;
};

class Decompress {
public:
    explicit Decompress(DecompressOptions& options) : opt_(options) {}

    int run() {
        if (auto parsed = parse(); !parsed) return print_error("decompress", parsed.error());
        auto files = expand(opt_.inputs);
        if (!files) return print_error("decompress", files.error());
        const OutputOf output_of = [&](const std::string& file) { return output_path(file); };
        if (auto usable = check(opt_.output, *files, output_of); !usable)
            return print_error("decompress", usable.error());
        if (opt_.output.remove && (is_part() || plan_.dtype))
            return print_error("decompress",
                               {Errc::invalid_argument,
                                "what --include, --exclude, --slice or --dtype leave out would be lost", "--rm"});
        plan_.write.asked = opt_.output.asked();
        auto device = open_device(opt_.device);
        if (!device) return print_error("decompress", device.error());
        device_ = *device;
        if (!opt_.output.out.empty() && !opt_.output.to_stdout) return run_merged(*files);
        int status = kOk;
        for (const auto& file : *files) {
            if (status != kOk && opt_.fail_fast) break;
            status = std::max(status, run_one(file));
        }
        return status;
    }

private:
    Result<Done> parse() {
        if (!opt_.to.empty()) { GRADZ_TRY(plan_.to, formats::format_of(opt_.to)); }
        if (!opt_.dtype.empty()) {
            GRADZ_TRY(plan_.dtype, parse_dtype(opt_.dtype));
            if (!quantizable(*plan_.dtype))
                return Error{Errc::invalid_argument,
                             "'" + opt_.dtype + "' is no gradient type, want f32, f64, f16 or bf16", "--dtype"};
        }
        GRADZ_TRY(plan_.slice, parse_slice(opt_.slice));
        GRADZ_TRY(plan_.write.memory, parse_size(opt_.input.memory));
        plan_.write.force = opt_.output.force;
        plan_.threads = thread_count(opt_.run);
        return Done{};
    }

    // All inputs into one file: a concatenation of files would hide all tensors but the last.
    int run_merged(const std::vector<std::string>& files) {
        if (files.size() == 1 && files[0] != "-") plan_.write.like = files[0];
        Target target(plan_, opt_.output.out, true);
        for (const auto& file : files)
            if (auto done = decode(file, target); !done) return print_error(file, done.error());
        if (auto done = target.commit(); !done) return print_error(opt_.output.out, done.error());
        tell();
        int status = kOk;
        for (const auto& file : files) status = std::max(status, remove_input(file));
        return status;
    }

    int run_one(const std::string& file) {
        std::string path = "-";
        if (!opt_.output.to_stdout) {
            const fs::path given(file);
            if (given.extension() != ".grz")
                return print_error(file, {Errc::invalid_argument, "unknown suffix, want .grz (or give -o)", ""});
            path = output_path(file);
        }
        plan_.write.like = file;
        Target target(plan_, path, false);
        if (auto done = decode(file, target); !done) return print_error(file, done.error());
        if (auto done = target.commit(); !done) return print_error(target.path(), done.error());
        tell();
        return remove_input(file);
    }

    Result<Done> decode(const std::string& file, Target& target) {
        const auto begin = Clock::now();
        identities_[file] = identity_of(file);
        const std::uint64_t before = target.output_bytes();
        Progress progress(file, 0, !opt_.run.quiet && !opt_.run.no_progress);
        if (is_part()) {
            GRADZ_TRY([[maybe_unused]] auto done, decode_part(file, target, progress));
        } else {
            GRADZ_TRY(const auto bytes, open_bytes(file));
            Forward forward(target, progress);
            GRADZ_TRY([[maybe_unused]] auto done, decode_streams(*bytes, forward, plan_.threads, nullptr, *device_));
        }
        progress.clear();
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        if (!opt_.run.quiet)
            told_ += printable(file) + ": " + human_bytes(target.output_bytes() - before) + ", " +
                     std::to_string(target.tensors()) + " tensors, " + human_number(seconds) + " s\n";
        return Done{};
    }

    // Some tensors, or a slice: by the index, touching nothing else.
    Result<Done> decode_part(const std::string& file, Target& target, Progress& progress) {
        GRADZ_TRY(auto dumps, open_dump(file, opt_.input));
        for (auto& dump : dumps) {
            if (!dump.stream) return Error{Errc::unsupported, "not a stream", ""};
            GRADZ_TRY([[maybe_unused]] auto begun, target.begin(dump.origin));
            const std::size_t base = target.tensors();
            GRADZ_TRY([[maybe_unused]] auto added, target.add(dump.source->tensors()));
            const ElementSink sink = [&](std::size_t tensor, std::uint64_t first, std::span<const std::byte> bytes) {
                progress.add(bytes.size());
                return target.write(base + tensor, first, bytes);
            };
            GRADZ_TRY([[maybe_unused]] auto copied, copy_elements(*dump.source, plan_.slice, sink, plan_.threads));
        }
        return Done{};
    }

    bool is_part() const { return !opt_.input.include.empty() || !opt_.input.exclude.empty() || !plan_.slice.all(); }

    std::string output_path(const std::string& file) const {
        std::string path = opt_.output.beside(file, "");
        return path.ends_with(".grz") ? path.substr(0, path.size() - 4) : path + ".out";
    }

    // Lines about what is done are told when it is on disk.
    void tell() {
        std::fputs(told_.c_str(), stderr);
        told_.clear();
    }

    // --rm: what was decoded was verified on the way, and is on disk.
    int remove_input(const std::string& file) {
        return opt_.output.remove ? remove_unchanged(file, identities_[file]) : int{kOk};
    }

    DecompressOptions& opt_;
    Plan plan_;
    const Device* device_ = &cpu_device();
    std::map<std::string, Identity> identities_;  // before they were read
    std::string told_;
};

constexpr char kDecompressFooter[] =
    "Examples:\n"
    "  gradz decompress g.h5.grz                         writes g.h5\n"
    "  gradz decompress g.grz -o g.npz                   as another format\n"
    "  gradz decompress g.grz --include 'fc*' --to npy   some tensors, as a folder of .npy\n"
    "  gradz decompress g.grz --slice 0:10 -o head.npy   rows 0 to 9 of each tensor\n"
    "  ssh host 'cat g.grz' | gradz decompress - --to npz -c > g.npz";

}  // namespace

void add_decompress(CLI::App& app, int& status) {
    auto opt = std::make_shared<DecompressOptions>();
    auto* cmd = app.add_subcommand("decompress", "Decode streams to tensor files");
    cmd->footer(kDecompressFooter);
    cmd->option_defaults()->always_capture_default();
    add_file_options(*cmd, opt->inputs, "streams; - is stdin");
    cmd->add_option("--to", opt->to, "npy, npz, h5 or safetensors; else -o's extension, else what it was")
        ->type_name("FORMAT");
    cmd->add_option("--dtype", opt->dtype, "write gradients as f32, f64, f16 or bf16, rounded to nearest even")
        ->type_name("TYPE");
    cmd->add_option("--slice", opt->slice, "rows A to B-1 of every tensor's first axis")->type_name("A:B");
    cmd->add_flag("--fail-fast", opt->fail_fast, "stop at the first bad input");
    add_output_options(*cmd, opt->output);
    add_selection_options(*cmd, opt->input);
    add_run_options(*cmd, opt->run);
    add_device_option(*cmd, opt->device);
    cmd->callback([opt, &status] { status = Decompress(*opt).run(); });
}

}  // namespace gradz::cli
