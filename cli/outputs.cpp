#include "outputs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace gradz::cli {
namespace {

namespace fs = std::filesystem;

bool regular(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);  // or not there yet
}

// Outputs beside the inputs: each its own, and none an input.
Result<Done> check_each(const std::vector<std::string>& files, const OutputOf& output_of) {
    std::map<std::string, std::string> taken;
    for (const auto& file : files) {
        const std::string output = output_of(file);
        std::error_code ec;
        const auto [at, fresh] = taken.emplace(fs::weakly_canonical(output, ec).string(), file);
        if (!fresh) return invalid_argument("'" + at->second + "' and '" + file + "' have one output", output);
        for (const auto& other : files)
            if (same_target(output, other))
                return invalid_argument("the output of '" + file + "' is also an input", output);
    }
    return Done{};
}

}  // namespace

std::string OutputOptions::beside(const std::string& file, const std::string& suffix) const {
    fs::path path(file);
    if (!path.has_filename()) path = path.parent_path();  // "run/" is the folder run
    if (path.filename() == "." || path.filename() == "..") {
        std::error_code ec;
        path = fs::weakly_canonical(path, ec);
    }
    if (!directory.empty()) path = fs::path(directory) / path.filename();
    return path.string() + suffix;
}

void add_output_options(CLI::App& app, OutputOptions& o) {
    const auto group = "Output";
    app.add_option("-o,--output", o.out, "one output for all FILEs; - is stdout")->group(group);
    app.add_flag("-c,--stdout", o.to_stdout, "write to stdout")->group(group);
    app.add_option("-O,--output-dir", o.directory, "folder for the outputs, instead of beside each FILE")
        ->type_name("DIR")
        ->group(group);
    app.add_flag("-f,--force", o.force, "replace existing files")->group(group);
    app.add_flag("--rm", o.remove, "remove each FILE after its output was read back in full")->group(group);
}

bool same_target(const std::string& a, const std::string& b) {
    struct stat x {
    }, y{};
    if (::stat(a.c_str(), &x) == 0 && ::stat(b.c_str(), &y) == 0)
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino && (S_ISREG(x.st_mode) || S_ISDIR(x.st_mode));
    std::error_code ec;
    return fs::weakly_canonical(a, ec) == fs::weakly_canonical(b, ec);
}

Result<Done> check_report(const std::string& path, const std::vector<std::string>& others, bool force) {
    if (path.empty() || path == "-") return Done{};
    for (const auto& other : others)
        if (other != "-" && same_target(path, other))
            return invalid_argument("the report would replace '" + other + "'", path);
    std::error_code ec;
    if (!force && fs::is_regular_file(path, ec)) return Error{Errc::exists, "exists; -f replaces it", path};
    return Done{};
}

Result<Done> check(OutputOptions& o, const std::vector<std::string>& files, const OutputOf& output_of) {
    if (o.to_stdout && !o.out.empty() && o.out != "-")
        return invalid_argument("-c and -o exclude each other", "-o " + o.out);
    if (o.joined() && !o.directory.empty())
        return invalid_argument("-O is for outputs beside their inputs, not with -o or -c", "-O");
    const auto stdins = std::count(files.begin(), files.end(), "-");
    if (stdins > 1) return invalid_argument("stdin is given twice", "-");
    if (stdins == 1 && !o.joined()) {
        if (files.size() > 1) return invalid_argument("stdin among other files needs -o or -c", "-");
        o.to_stdout = o.implied = true;
    }
    if (o.out == "-") o.to_stdout = true;
    if (o.remove && (o.to_stdout || stdins == 1 || (o.joined() && !regular(o.out))))
        return invalid_argument("--rm needs files on both sides", "--rm");
    if (!o.joined()) {
        GRADZ_TRY([[maybe_unused]] auto distinct, check_each(files, output_of));
    } else if (!o.to_stdout) {
        for (const auto& file : files)
            if (file != "-" && same_target(file, o.out)) return invalid_argument("output is also an input", o.out);
    }
    if (!o.directory.empty()) {
        std::error_code ec;
        fs::create_directories(o.directory, ec);
        if (ec) return Error{Errc::io, ec.message(), o.directory};
    }
    return Done{};
}

}  // namespace gradz::cli
