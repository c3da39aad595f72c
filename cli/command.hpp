// One subcommand = one cmd_<name>.cpp with one function declared here. It adds its
// options to `app`; its callback stores the process exit status in `status`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/error.hpp"

namespace gradz::cli {

// main.cpp maps CLI11's own codes to kUsage; a signal ends the process as 128 + n.
enum Exit : int {
    kOk = 0,
    kFailed = 1,   // the data could not be processed (damage included)
    kUsage = 2,    // options, specs, GRADZ_TARGET
    kVerdict = 3,  // diff found more than allowed
};

void add_compress(CLI::App& app, int& status);
void add_decompress(CLI::App& app, int& status);
void add_list(CLI::App& app, int& status);
void add_test(CLI::App& app, int& status);
void add_stats(CLI::App& app, int& status);
void add_diff(CLI::App& app, int& status);
void add_levels(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);

// "gradz: step.h5: tensor fc.weight: truncated data, at byte 8192": one line on stderr,
// control characters and bytes that are not UTF-8 escaped. Returns kUsage for
// Errc::invalid_argument, else kFailed.
int print_error(const std::string& file, const Error& error);

// "gradz: step.h5: warning: …" on stderr.
void print_warning(const std::string& file, const std::string& text);
std::string warning_line(const std::string& file, const std::string& text);  // the same, to be printed later

// What print_error() does to names and paths: safe for a terminal and for one line.
std::string printable(std::string_view text);

}  // namespace gradz::cli
