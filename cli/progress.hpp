// A progress line on a terminal's stderr, for what takes more than a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gradz::cli {

class Progress {
public:
    // total: bytes to come, 0 if unknown. Silent unless stderr is a terminal and `wanted`.
    Progress(std::string what, std::uint64_t total, bool wanted);
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void add(std::uint64_t bytes);  // one call at a time
    void clear();                   // before anything else is written to stderr

private:
    using Clock = std::chrono::steady_clock;
    std::string what_;
    std::uint64_t total_, done_ = 0;
    bool wanted_, shown_ = false;
    Clock::time_point begin_ = Clock::now(), next_ = begin_ + std::chrono::seconds(1);
};

}  // namespace gradz::cli
