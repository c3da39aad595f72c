#include "options.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

#include "command.hpp"
#include "formats/names.hpp"

namespace gradz::cli {
namespace {

namespace fs = std::filesystem;

Result<std::vector<std::uint64_t>> parse_shape(const std::string& text) {
    std::vector<std::uint64_t> shape;
    const char *at = text.data(), *end = at + text.size();
    while (at != end) {
        std::uint64_t dim = 0;
        const auto [stop, ec] = std::from_chars(at, end, dim);
        if (ec != std::errc{} || (stop != end && (*stop != ',' || stop + 1 == end)))
            return invalid_argument("'" + text + "' is no shape, want e.g. 3,4", "--shape");
        shape.push_back(dim);
        at = stop == end ? stop : stop + 1;
    }
    return shape;
}

template <class Number>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, std::function<void(Number)> set,
                        const std::string& help, const char* want) {
    const auto parse = [set = std::move(set), want, name](const std::string& text) {
        Number value{};
        const char* end = text.data() + text.size();
        const auto [stop, ec] = std::from_chars(text.data(), end, value);
        if (ec != std::errc{} || stop != end || !(value >= 0) || value > std::numeric_limits<Number>::max())
            throw CLI::ValidationError(name, "'" + text + "' is no " + want);
        set(value);
    };
    return app.add_option_function<std::string>(name, parse, help);
}

bool matches(const std::vector<std::string>& globs, const std::string& name) {
    return std::any_of(globs.begin(), globs.end(),
                       [&](const auto& glob) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

Result<Done> list_folder(const std::string& folder, std::vector<std::string>& out) {
    std::error_code ec;
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec))
        if (at->is_regular_file(ec) && at->path().filename().string()[0] != '.') found.push_back(at->path().string());
    if (ec) return Error{Errc::io, ec.message(), folder};
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return formats::compare_natural(a, b) < 0; });
    out.insert(out.end(), found.begin(), found.end());
    return Done{};
}

}  // namespace

void add_selection_options(CLI::App& app, InputOptions& o) {
    const auto group = "Input";
    app.add_option("--include", o.include, "only tensors whose name matches GLOB (repeatable)")
        ->type_name("GLOB")
        ->expected(1)
        ->allow_extra_args(false)  // one a time: the next word may be a FILE
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group(group);
    app.add_option("--exclude", o.exclude, "no tensors whose name matches GLOB (repeatable)")
        ->type_name("GLOB")
        ->expected(1)
        ->allow_extra_args(false)  // one a time: the next word may be a FILE
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group(group);
    app.add_option("-M,--memory", o.memory, "bytes for what must be held whole (64M, 2G)")
        ->type_name("SIZE")
        ->group(group);
}

void add_input_options(CLI::App& app, InputOptions& o) {
    const auto group = "Input";
    app.add_option("--name", o.name, "name of the tensor, instead of what the file's name says")->group(group);
    add_whole(
        app, "--step", [&o](std::uint64_t n) { o.step = n; }, "training step, instead of what names say")
        ->type_name("N")
        ->group(group);
    add_whole(
        app, "--worker", [&o](std::uint64_t n) { o.worker = n; }, "worker (rank), instead of what names say")
        ->type_name("N")
        ->group(group);
    add_selection_options(app, o);
    app.add_option("--raw", o.raw, "input is raw values of this type: f32, f64, f16, bf16, i32, ..")
        ->type_name("TYPE")
        ->group(group);
    app.add_option("--shape", o.shape, "shape of raw input: 3,4")->type_name("DIMS")->group(group);
    app.add_option("--max-output", o.max_output,
                   "refuse archives that declare more than SIZE and 1000 x what they store")
        ->type_name("SIZE")
        ->group(group);
    app.add_flag("--follow-external", o.follow_external, "follow HDF5 links and storage outside the file")
        ->group(group);
}

Result<formats::ReadOptions> read_options(const InputOptions& o) {
    formats::ReadOptions out;
    out.name = o.name;
    out.step = o.step;
    out.worker = o.worker;
    out.follow_external = o.follow_external;
    GRADZ_TRY(out.memory, parse_size(o.memory));
    GRADZ_TRY(out.max_output, parse_size(o.max_output));
    if (o.raw.empty() != o.shape.empty())
        return invalid_argument("--raw and --shape go together", o.raw.empty() ? "--shape" : "--raw");
    if (o.raw.empty()) return out;
    formats::RawLayout layout;
    GRADZ_TRY(layout.dtype, parse_dtype(o.raw));
    GRADZ_TRY(layout.shape, parse_shape(o.shape));
    out.raw = layout;
    return out;
}

bool selected(const InputOptions& o, const std::string& name) {
    return (o.include.empty() || matches(o.include, name)) && !matches(o.exclude, name);
}

void add_file_options(CLI::App& app, FileOptions& o, const char* what) {
    app.add_option("FILE", o.files, what);
    app.add_option("--files-from", o.files_from, "read more FILEs from LIST, one a line; - is stdin")
        ->type_name("LIST")
        ->group("Input");
    app.add_flag("-r,--recursive", o.recursive, "every file under a folder, instead of the folder as one dump")
        ->group("Input");
}

Result<std::vector<std::string>> expand(const FileOptions& o) {
    std::vector<std::string> given = o.files;
    if (!o.files_from.empty()) {
        std::ifstream file;
        if (o.files_from != "-") file.open(o.files_from);
        std::istream& list = o.files_from == "-" ? std::cin : file;
        if (!list) return Error{Errc::io, "cannot be read", o.files_from};
        for (std::string line; std::getline(list, line);)
            if (!line.empty()) given.push_back(line);
    }
    if (given.empty()) return invalid_argument("no FILE; - is stdin", "FILE");
    std::vector<std::string> out;
    for (const auto& file : given) {
        std::error_code ec;
        if (!o.recursive || !fs::is_directory(file, ec)) {
            out.push_back(file);
            continue;
        }
        const std::size_t before = out.size();
        GRADZ_TRY([[maybe_unused]] auto listed, list_folder(file, out));
        if (out.size() == before) return Error{Errc::io, "no file below this folder", file};
    }
    return out;
}

void add_run_options(CLI::App& app, RunOptions& o, bool with_verbose) {
    const auto group = "Running";
    app.add_option("-T,--threads", o.threads, "threads, 0 = all that are allowed; never changes the output")
        ->group(group)
        ->check([](const std::string& text) {
            int n = 0;
            const auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
            const bool ok = ec == std::errc{} && stop == text.data() + text.size() && n >= 0 && n <= 4096;
            return ok ? std::string() : "threads = " + text + ", want 0..4096";
        });
    if (with_verbose) app.add_flag("-v,--verbose", o.verbose, "a line for every tensor, on stderr")->group(group);
    app.add_flag("--quiet", o.quiet, "no line on stderr but errors and warnings")->group(group);
    app.add_flag("--no-progress", o.no_progress, "no progress line on a terminal")->group(group);
}

int thread_count(const RunOptions& o) {
    if (o.threads) return *o.threads;
    const char* text = std::getenv("OMP_NUM_THREADS");
    int n = 0;
    if (text) std::from_chars(text, text + std::char_traits<char>::length(text), n);
    return n > 0 && n <= 4096 ? n : 0;
}

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::function<void(std::uint64_t)> set,
                       const std::string& help) {
    return add_parsed(app, name, std::move(set), help, "whole number below 2^64");
}

CLI::Option* add_number(CLI::App& app, const std::string& name, std::function<void(double)> set,
                        const std::string& help) {
    return add_parsed(app, name, std::move(set), help, "number that is not negative");
}

Result<std::uint64_t> parse_size(const std::string& text) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [unit, ec] = std::from_chars(text.data(), end, value);
    const std::string_view rest(unit, static_cast<std::size_t>(end - unit));
    int shift = 0;
    const std::size_t letter = rest.empty() ? std::string_view::npos : std::string_view("BKMGT").find(rest[0]);
    const std::string_view tail = rest.empty() ? rest : rest.substr(1);
    const bool known = rest.empty() || (letter != std::string_view::npos &&
                                        (tail.empty() || (letter > 0 && (tail == "B" || tail == "iB"))));
    if (known && !rest.empty()) shift = 10 * static_cast<int>(letter);
    const double bytes = value * static_cast<double>(std::uint64_t{1} << shift);
    if (ec != std::errc{} || !known || !(bytes >= 0 && bytes < 0x1p63))
        return invalid_argument("'" + text + "' is no size, want e.g. 64M or 2G", "SIZE");
    return static_cast<std::uint64_t>(bytes);
}

Result<DType> parse_dtype(const std::string& text) {
    static constexpr std::pair<std::string_view, DType> kShort[] = {
        {"f32", DType::f32}, {"f64", DType::f64}, {"f16", DType::f16},     {"bf16", DType::bf16}, {"i8", DType::i8},
        {"u8", DType::u8},   {"i16", DType::i16}, {"u16", DType::u16},     {"i32", DType::i32},   {"u32", DType::u32},
        {"i64", DType::i64}, {"u64", DType::u64}, {"bool", DType::boolean}};
    for (const auto& [name, dtype] : kShort)
        if (text == name) return dtype;
    for (std::size_t i = 0; i < std::size(kDTypes); ++i)
        if (text == kDTypes[i].name) return static_cast<DType>(i);
    return invalid_argument("no dtype '" + text + "'; some: f32, f64, f16, bf16, i32, i64, u8, bool", "dtype");
}

}  // namespace gradz::cli
