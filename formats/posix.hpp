// What the readers and writers of files need of POSIX: a descriptor that closes itself, and
// errno as an Error.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace gradz::formats {

// doing: "cannot open step.h5"; code: errno as it was right after the call.
inline Error io_error(const std::string& doing, int code) { return {Errc::io, doing + ": " + std::strerror(code), ""}; }

class Descriptor {
public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) reset(), fd_ = std::exchange(other.fd_, -1);
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int take() { return std::exchange(fd_, -1); }

    // 0, or errno: a full disk may be told as late as here. The descriptor is gone either way.
    int close() {
        const int fd = take();
        return fd >= 0 && ::close(fd) != 0 && errno != EINTR ? errno : 0;
    }

private:
    void reset() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    int fd_;
};

}  // namespace gradz::formats
