// Where compress and decompress write.
#pragma once

#include <CLI/CLI.hpp>
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

// After all options and inputs are known. Errc::invalid_argument for combinations that make
// no sense (the folder of -O is made): -o beside -O, --rm without a file on both sides, an output that is one of the
// inputs, stdin twice.
Result<Done> check(OutputOptions& options, const std::vector<std::string>& files);

}  // namespace gradz::cli
