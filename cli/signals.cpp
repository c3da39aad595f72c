#include "signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

void open_standard_descriptors() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // takes the lowest free number
}

void install_signal_handlers() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXFSZ, SIGXCPU}) {
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
