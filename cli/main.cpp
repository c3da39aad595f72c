// gradz: parse the command line, run one subcommand, return its status.
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "command.hpp"
#include "quant/nearest.hpp"
#include "signals.hpp"
#include "version.hpp"

namespace {

using namespace gradz::cli;

struct Command {
    std::string_view name;
};

constexpr char kFooter[] =
    "Examples:\n"
    "  gradz compress step_000100.h5                        step_000100.h5.grz beside it\n"
    "  gradz compress g.npz -q qsgd:bits=3+elias -o g.grz   another scheme\n"
    "  gradz compress - --name g -c < g.npy | gradz test -  in a pipe\n"
    "  gradz decompress g.grz --to npz                      back to tensors\n"
    "  gradz levels nuqsgd:bits=4                           what a scheme rounds to\n"
    "gradz COMMAND --help tells more; gradz(1) all.";

// CLI11 would only say that a command is missing.
bool unknown_command(const CLI::App& app, int argc, char** argv) {
    if (argc < 2 || argv[1][0] == '-') return false;
    std::vector<Command> known;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (sub->get_name() == argv[1]) return false;
        known.push_back({sub->get_name()});
    }
    const auto error = gradz::unknown<Command>("command", argv[1], known, &Command::name);
    std::fprintf(stderr, "gradz: %s; see gradz --help\n", printable(error.what).c_str());
    return true;
}

int run(int argc, char** argv) {
    CLI::App app(
        "gradz compresses gradient tensors with the quantizers of distributed training, and measures what that costs.");
    app.name("gradz");
    app.footer(kFooter);
    app.set_version_flag("-V,--version", gradz::kVersionText);
    app.require_subcommand(1);
    app.fallthrough(false);
    int status = kOk;
    add_compress(app, status);
    add_decompress(app, status);
    add_list(app, status);
    add_test(app, status);
    add_stats(app, status);
    add_diff(app, status);
    add_levels(app, status);
    add_bench(app, status);
    if (unknown_command(app, argc, argv)) return kUsage;
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        app.exit(help);
        return std::cout.flush() && std::fflush(stdout) == 0 ? kOk : kFailed;
    } catch (const CLI::ParseError& error) {
        // CLI11's texts may span lines; its codes are its own.
        std::string what = error.what();
        for (auto& c : what)
            if (c == '\n') c = ' ';
        std::fprintf(stderr, "gradz: %s; see gradz --help\n", printable(what).c_str());
        return kUsage;
    }
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_descriptors();
    install_signal_handlers();
    try {
        return run(argc, argv);
    } catch (const std::bad_alloc&) {
        std::fputs("gradz: out of memory\n", stderr);
    } catch (const std::exception& error) {  // a bug of ours, or CLI11's: still one line
        std::fprintf(stderr, "gradz: %s\n", error.what());
    }
    return kFailed;
}
