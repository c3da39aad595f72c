#include "signals.hpp"

#include <csignal>

#include "formats/mapped_file.hpp"
#include "formats/output_file.hpp"

namespace gradz::cli {
namespace {

void on_end(int signal) {
    formats::remove_temporaries();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

void install_signal_handlers() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        sigaction(signal, nullptr, &action);
        if (action.sa_handler == SIG_IGN) continue;  // nohup
        action = {};
        action.sa_handler = on_end;
        sigemptyset(&action.sa_mask);
        sigaction(signal, &action, nullptr);
    }
    formats::install_sigbus_handler();
}

}  // namespace gradz::cli
