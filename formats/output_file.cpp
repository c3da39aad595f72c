#include "formats/output_file.hpp"

#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "formats/posix.hpp"
#include "formats/temporaries.hpp"

namespace gradz::formats {
namespace {

namespace fs = std::filesystem;

Result<Done> write_all(int fd, std::span<const std::byte> bytes, const std::string& name) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n >= 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {  // whoever shares the pipe with us made it non-blocking
            struct pollfd wait = {fd, POLLOUT, 0};
            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return io_error("cannot write " + name, errno);
        }
    }
    return Done{};
}

// A pipe, a device, or a descriptor that somebody else opened.
class InPlaceOutput final : public Output {
public:
    InPlaceOutput(Descriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

    Result<Done> write(std::span<const std::byte> bytes) override { return write_all(fd_.get(), bytes, name_); }
    Result<Done> write_at(std::uint64_t, std::span<const std::byte>) override {
        return Error{Errc::io, name_ + " cannot be written out of order", ""};
    }
    bool seekable() const override { return false; }
    fs::path staging() const override { return {}; }
    void copy_times(const fs::path&) override {}
    void redirect(const fs::path&) override {}
    Result<Done> commit() override {
        if (const int code = fd_.close()) return io_error("cannot write " + name_, code);
        return Done{};
    }

private:
    Descriptor fd_;
    std::string name_;
};

// A file that appears whole at commit() or not at all.
class AtomicOutput final : public Output {
public:
    AtomicOutput(Descriptor fd, Temporary temporary, fs::path target, bool force)
        : fd_(std::move(fd)), temporary_(std::move(temporary)), target_(std::move(target)), force_(force) {}

    Result<Done> write(std::span<const std::byte> bytes) override {
        return write_all(fd_.get(), bytes, target_.string());
    }

    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        while (!bytes.empty()) {
            const ssize_t n = pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return failed(errno);
            bytes = bytes.subspan(static_cast<std::size_t>(n));
            offset += static_cast<std::uint64_t>(n);
        }
        return Done{};
    }

    bool seekable() const override { return true; }
    fs::path staging() const override { return temporary_.path(); }

    void copy_times(const fs::path& like) override {
        struct stat info;
        if (stat(like.c_str(), &info) == 0 && S_ISREG(info.st_mode)) like_ = info;
    }

    void redirect(const fs::path& path) override { target_ = path, force_ = false; }

    Result<Done> commit() override {
        if (fchmod(fd_.get(), like_ ? like_->st_mode & 0777 : 0666 & ~current_umask()) != 0) return failed(errno);
        if (like_) {
            const timespec times[2] = {like_->st_atim, like_->st_mtim};
            if (futimens(fd_.get(), times) != 0) return failed(errno);
        }
        if (fsync(fd_.get()) != 0) return failed(errno);
        if (const int code = fd_.close()) return failed(code);
        return temporary_.publish(target_, force_);
    }

private:
    Error failed(int code) const { return io_error("cannot write " + target_.string(), code); }

    Descriptor fd_;
    Temporary temporary_;
    fs::path target_;
    bool force_;
    std::optional<struct stat> like_;
};

Result<std::unique_ptr<Output>> in_place(Descriptor fd, const std::string& name, bool force, bool asked) {
    if (!force && !asked && isatty(fd.get()))
        return Error{Errc::invalid_argument, name + " is a terminal, and the output is binary", ""};
    return std::unique_ptr<Output>(std::make_unique<InPlaceOutput>(std::move(fd), name));
}

// A copy of the descriptor, not a new opening of its file: that would start at offset 0 of a
// file which a shell opened for appending.
Result<std::unique_ptr<Output>> duplicate(int fd, const std::string& name, bool force, bool asked) {
    Descriptor copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy) return io_error("cannot write " + name, errno);
    return in_place(std::move(copy), name, force, asked);
}

// N where `link` is /proc/self/fd/N or an alias of it, such as /dev/fd/N.
std::optional<int> own_descriptor(const fs::path& link) {
    struct stat folder, own;
    if (stat(link.parent_path().c_str(), &folder) != 0 || stat("/proc/self/fd", &own) != 0) return std::nullopt;
    if (folder.st_dev != own.st_dev || folder.st_ino != own.st_ino) return std::nullopt;
    const std::string number = link.filename().string();
    char* end = nullptr;
    const long fd = std::strtol(number.c_str(), &end, 10);
    return number.empty() || *end ? std::nullopt : std::optional<int>(static_cast<int>(fd));
}

struct Target {
    fs::path path;                  // no symlink any more, unless it is one of /proc
    std::optional<int> descriptor;  // of this process
};

// Symlinks are followed by hand, because those of /proc/self/fd name an open file and not a
// place: the file they point to must not be replaced.
Result<Target> follow(fs::path path) {
    for (int links = 0; links < 40; ++links) {
        struct stat info;
        if (lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return Target{path, std::nullopt};
        fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
        if (const auto fd = own_descriptor(path)) return Target{path, fd};
        struct statfs system;
        if (statfs(folder.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC)
            return Target{path, std::nullopt};  // a descriptor of another process
        std::error_code error;
        const fs::path next = fs::read_symlink(path, error);
        if (error) return io_error("cannot follow " + path.string(), error.value());
        path = next.is_absolute() ? next : folder / next;
    }
    return Error{Errc::io, path.string() + " is a chain of too many symlinks", ""};
}

// `path` is there, and is no directory and no regular file that could be replaced.
Result<std::unique_ptr<Output>> open_in_place(const fs::path& path, bool force, bool asked) {
    Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));  // waits for the reader of a FIFO
    if (!fd) return io_error("cannot write " + path.string(), errno);
    return in_place(std::move(fd), path.string(), force, asked);
}

}  // namespace

Result<std::unique_ptr<Output>> create(const fs::path& path, bool force, bool asked) {
    if (path == "-") return duplicate(STDOUT_FILENO, "standard output", force, asked);
    GRADZ_TRY(const auto target, follow(path));
    if (target.descriptor) return duplicate(*target.descriptor, path.string(), force, asked);
    struct stat info;
    const bool there = lstat(target.path.c_str(), &info) == 0;
    if (!there && errno != ENOENT) return io_error("cannot write " + path.string(), errno);
    if ((there && S_ISDIR(info.st_mode)) || target.path.filename().empty())
        return Error{Errc::invalid_argument, path.string() + " is a directory", ""};
    if (there && !S_ISREG(info.st_mode)) return open_in_place(target.path, force, asked);
    if (there && !force) return Error{Errc::exists, path.string() + " exists already (-f overwrites)", ""};
    GRADZ_TRY(auto temporary, Temporary::beside(target.path));
    Descriptor fd(::open(temporary.path().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) return io_error("cannot write " + path.string(), errno);
    return std::unique_ptr<Output>(
        std::make_unique<AtomicOutput>(std::move(fd), std::move(temporary), target.path, force));
}

}  // namespace gradz::formats
