#include "outputs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace gradz::cli {
namespace {

Error usage(std::string what, std::string where) { return {Errc::invalid_argument, std::move(what), std::move(where)}; }

bool same_file(const std::string& a, const std::string& b) {
    struct stat x {
    }, y{};
    return ::stat(a.c_str(), &x) == 0 && ::stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           (S_ISREG(x.st_mode) || S_ISDIR(x.st_mode));
}

}  // namespace

std::string OutputOptions::beside(const std::string& file, const std::string& suffix) const {
    namespace fs = std::filesystem;
    fs::path path(file);
    if (!path.has_filename()) path = path.parent_path();  // "run/" is the folder run
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

Result<Done> check(OutputOptions& o, const std::vector<std::string>& files) {
    if (o.to_stdout && !o.out.empty() && o.out != "-") return usage("-c and -o exclude each other", "-o " + o.out);
    if (o.joined() && !o.directory.empty())
        return usage("-O is for outputs beside their inputs, not with -o or -c", "-O");
    const auto stdins = std::count(files.begin(), files.end(), "-");
    if (stdins > 1) return usage("stdin is given twice", "-");
    if (stdins == 1 && !o.joined()) {
        if (files.size() > 1) return usage("stdin among other files needs -o or -c", "-");
        o.to_stdout = o.implied = true;
    }
    if (o.out == "-") o.to_stdout = true;
    if (o.remove && (o.to_stdout || stdins == 1)) return usage("--rm needs files on both sides", "--rm");
    if (!o.directory.empty()) {
        std::error_code ec;
        std::filesystem::create_directories(o.directory, ec);
        if (ec) return Error{Errc::io, ec.message(), o.directory};
    }
    for (const auto& file : files)
        if (!o.to_stdout && !o.out.empty() && same_file(file, o.out)) return usage("output is also an input", o.out);
    return Done{};
}

}  // namespace gradz::cli
