// gradz test FILE...: every hash is checked and every block decoded.
#include <cstdio>
#include <memory>

#include "command.hpp"
#include "device.hpp"
#include "dump.hpp"
#include "verify.hpp"

namespace gradz::cli {
namespace {

struct TestOptions {
    FileOptions files;
    RunOptions run;
    DeviceOptions device;
    bool digest = false, fail_fast = false;
};

Result<Done> test(const std::string& file, const TestOptions& opt, const Device& device) {
    GRADZ_TRY(const auto bytes, open_bytes(file));
    Digest digest;
    GRADZ_TRY(const auto seen, verify(*bytes, thread_count(opt.run), opt.digest ? &digest : nullptr, device));
    std::string line;
    if (opt.digest) line = digest.hex() + "  " + printable(file) + '\n';
    else if (!opt.run.quiet)
        line = printable(file) + ": ok, " + std::to_string(seen.tensors) + " tensors, " +
               std::to_string(seen.elements) + " elements" +
               (seen.streams > 1 ? ", " + std::to_string(seen.streams) + " streams\n" : "\n");
    if (std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
        return Error{Errc::io, "cannot be written", "stdout"};
    return Done{};
}

int run(TestOptions& opt) {
    auto files = expand(opt.files);
    if (!files) return print_error("test", files.error());
    auto device = open_device(opt.device);
    if (!device) return print_error("test", device.error());
    int status = kOk;
    for (const auto& file : *files) {
        if (status != kOk && opt.fail_fast) break;
        if (auto tested = test(file, opt, **device); !tested)
            status = std::max(status, print_error(file, tested.error()));
    }
    return status;
}

}  // namespace

void add_test(CLI::App& app, int& status) {
    auto opt = std::make_shared<TestOptions>();
    auto* cmd = app.add_subcommand("test", "Verify streams: every checksum, every block decoded");
    cmd->footer(
        "Examples:\n"
        "  gradz test g.grz\n"
        "  gradz test --digest a.grz b.grz    equal digests: the same tensors, coded alike, whatever files they came "
        "from");
    cmd->option_defaults()->always_capture_default();
    add_file_options(*cmd, opt->files, "streams; - is stdin");
    cmd->add_flag("--digest", opt->digest, "print a hash of all records but those that describe the original file");
    cmd->add_flag("--fail-fast", opt->fail_fast, "stop at the first bad input");
    add_run_options(*cmd, opt->run);
    add_device_option(*cmd, opt->device);
    cmd->callback([opt, &status] { status = run(*opt); });
}

}  // namespace gradz::cli
