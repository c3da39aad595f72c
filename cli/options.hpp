// Options that several subcommands share, in groups.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "formats/tensor_reader.hpp"

namespace gradz::cli {

// How to read dumps.
struct InputOptions {
    std::string name, raw, shape;  // as given; checked by read_options()
    std::optional<std::uint64_t> step, worker;
    std::vector<std::string> include, exclude;  // globs over tensor names: * ? [a-z]
    std::string memory = "1G", max_output = "4G";
    bool follow_external = false;
};
void add_input_options(CLI::App& app, InputOptions& options);

// Of these only --include, --exclude and --memory: what decoding needs.
void add_selection_options(CLI::App& app, InputOptions& options);

// Errc::invalid_argument for a bad --raw, --shape, --memory or --max-output.
Result<formats::ReadOptions> read_options(const InputOptions& options);

// Whether --include and --exclude let a tensor pass.
bool selected(const InputOptions& options, const std::string& name);

// Which inputs.
struct FileOptions {
    std::vector<std::string> files;  // as given
    std::string files_from;          // one path a line
    bool recursive = false;          // every file under a folder instead of one dump per folder
};
void add_file_options(CLI::App& app, FileOptions& options, const char* what);

// All of them, in order: those of --files-from after those given; with -r the files under
// each folder in natural order. Errc::invalid_argument if there is none, Errc::io if the list or a folder cannot be
// read, or no file is below a folder.
Result<std::vector<std::string>> expand(const FileOptions& options);

// How to run.
struct RunOptions {
    std::optional<int> threads;  // -T; else OMP_NUM_THREADS, else 0
    int verbose = 0;
    bool quiet = false, no_progress = false;
};
// -v is for commands that have a line a tensor to print.
void add_run_options(CLI::App& app, RunOptions& options, bool with_verbose = false);
int thread_count(const RunOptions& options);

// Options whose value is a whole number below 2^64, or a finite number that is not negative, in any
// locale: CLI11 itself lets an overflow become the largest number. `set` receives it.
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::function<void(std::uint64_t)> set,
                       const std::string& help);
CLI::Option* add_number(CLI::App& app, const std::string& name, std::function<void(double)> set,
                        const std::string& help);

// "64", "64K", "1.5M", "2G", "1GiB", "10MB": bytes, binary units; Errc::invalid_argument.
Result<std::uint64_t> parse_size(const std::string& text);

// "f32", "float32", "bf16", … : what --raw and --dtype take.
Result<DType> parse_dtype(const std::string& text);

}  // namespace gradz::cli
