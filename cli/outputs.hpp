// Where compress and decompress write.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace gradz::cli {

struct OutputOptions {
    std::string out, directory;  // -o, -O
    bool to_stdout = false, force = false, remove = false;
    bool implied = false;  // stdout because the input is stdin: then not to a terminal

    bool asked() const { return to_stdout && !implied; }

    bool joined() const { return to_stdout || !out.empty(); }  // one output for all inputs
    std::string target() const { return to_stdout ? "-" : out; }

    // -O DIR/NAME, else beside the input. `suffix` is added; stdin goes to stdout.
    std::string beside(const std::string& file, const std::string& suffix) const;
};
void add_output_options(CLI::App& app, OutputOptions& options);

// Whether two paths lead to one file, also if it is not there yet.
bool same_target(const std::string& a, const std::string& b);

// Errc::invalid_argument if a report at `path` ("" and "-": none) would replace one of `others`;
// Errc::exists if it would replace anything and `force` is false.
Result<Done> check_report(const std::string& path, const std::vector<std::string>& others, bool force);

// Where one input's output goes.
using OutputOf = std::function<std::string(const std::string& file)>;

// After all options and inputs are known. Errc::invalid_argument for combinations that make
// no sense (the folder of -O is made): -o beside -O, --rm without a file on both sides, an output that is one of the
// inputs or comes twice, stdin twice.
Result<Done> check(OutputOptions& options, const std::vector<std::string>& files, const OutputOf& output_of);

}  // namespace gradz::cli
