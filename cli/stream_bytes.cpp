// Files and pipes as ByteSource.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "dump.hpp"
#include "formats/spool.hpp"

namespace gradz::cli {
namespace {

Error failed(const std::string& file) { return {Errc::io, std::system_category().message(errno), file}; }

// A regular file, read with pread: several workers at once.
class FileBytes : public ByteSource {
public:
    FileBytes(int fd, std::string file, std::uint64_t size) : fd_(fd), file_(std::move(file)), size_(size) {}
    ~FileBytes() override { ::close(fd_); }
    FileBytes(const FileBytes&) = delete;
    FileBytes& operator=(const FileBytes&) = delete;

    Result<std::size_t> read(std::span<std::byte> into) override {
        std::size_t done = 0;
        while (done < into.size()) {
            const ssize_t n = ::pread(fd_, into.data() + done, into.size() - done, static_cast<off_t>(at_));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return failed(file_);
            if (n == 0) break;
            done += static_cast<std::size_t>(n), at_ += static_cast<std::uint64_t>(n);
        }
        return done;
    }
    std::optional<std::uint64_t> size() const override { return size_; }
    Result<Done> read_at(std::uint64_t offset, std::span<std::byte> into) override {
        for (std::size_t done = 0; done < into.size();) {
            const ssize_t n = ::pread(fd_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return failed(file_);
            if (n == 0) return Error{Errc::truncated, "file ends at byte " + std::to_string(offset + done), ""};
            done += static_cast<std::size_t>(n);
        }
        return Done{};
    }

private:
    int fd_;
    std::string file_;
    std::uint64_t size_, at_ = 0;
};

// stdin that is a file may be read out of order like any file, from where it stands now.
Result<std::shared_ptr<ByteSource>> open_fd(const std::string& file) {
    const int fd = file == "-" ? ::dup(STDIN_FILENO) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return failed(file);
    struct stat status {};
    if (::fstat(fd, &status) != 0) return failed(file);
    if (S_ISDIR(status.st_mode)) {
        ::close(fd);
        return Error{Errc::invalid_argument, "is a folder", file};
    }
    if (S_ISREG(status.st_mode) && (file != "-" || ::lseek(fd, 0, SEEK_CUR) == 0))
        return std::shared_ptr<ByteSource>(
            std::make_shared<FileBytes>(fd, file, static_cast<std::uint64_t>(status.st_size)));
    return std::shared_ptr<ByteSource>(formats::read_descriptor(fd, true));
}

}  // namespace

Result<std::shared_ptr<ByteSource>> open_bytes(const std::string& file) { return open_fd(file); }

Result<std::shared_ptr<ByteSource>> open_seekable(const std::string& file) {
    GRADZ_TRY(auto bytes, open_fd(file));
    if (bytes->size()) return bytes;
    GRADZ_TRY(const auto spool, formats::Spool::create());
    GRADZ_TRY([[maybe_unused]] auto filled, spool->append(*bytes));
    return open_fd(spool->path().string());  // a descriptor of its own, so the spool may go
}

bool is_stream_file(const std::string& file) {
    if (file == "-") return false;
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    auto bytes = open_fd(file);
    if (!bytes) return false;
    std::byte start[8];
    const auto n = (*bytes)->read(start);
    return n && is_stream({start, *n});
}

}  // namespace gradz::cli
