#include "progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "command.hpp"
#include "report.hpp"

namespace gradz::cli {

Progress::Progress(std::string what, std::uint64_t total, bool wanted)
    : what_(printable(what)), total_(total), wanted_(wanted && ::isatty(STDERR_FILENO)) {
    const char* terminal = std::getenv("TERM");
    if (terminal && std::strcmp(terminal, "dumb") == 0) wanted_ = false;
}

void Progress::add(std::uint64_t bytes) {
    done_ += bytes;
    if (!wanted_ || Clock::now() < next_) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    const double rate = static_cast<double>(done_) / seconds;
    std::string line = what_ + ": " + human_bytes(done_);
    if (total_ > 0) line += " of " + human_bytes(total_);
    line += ", " + human_bytes(static_cast<std::uint64_t>(rate)) + "/s";
    if (total_ > done_) line += ", " + human_number(static_cast<double>(total_ - done_) / rate) + " s left";
    std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
    std::fflush(stderr);
    shown_ = true;
    next_ = Clock::now() + std::chrono::milliseconds(200);
}

void Progress::clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
}

}  // namespace gradz::cli
