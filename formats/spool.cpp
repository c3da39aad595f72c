#include "formats/spool.hpp"

#include <poll.h>

#include <cstdlib>
#include <vector>

namespace gradz::formats {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

class DescriptorSource final : public ByteSource {
public:
    DescriptorSource(int fd, bool own) : fd_(fd), owned_(own ? fd : -1) {}

    Result<std::size_t> read(std::span<std::byte> into) override {
        std::size_t done = 0;
        while (done < into.size()) {
            const ssize_t n = ::read(fd_, into.data() + done, into.size() - done);
            if (n == 0) break;
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && errno == EAGAIN) {  // whoever shares the pipe with us made it non-blocking
                struct pollfd wait = {fd_, POLLIN, 0};
                poll(&wait, 1, -1);
                continue;
            }
            if (n < 0) return io_error("cannot read the input", errno);
            done += static_cast<std::size_t>(n);
        }
        return done;
    }
    std::optional<std::uint64_t> size() const override { return std::nullopt; }
    Result<Done> read_at(std::uint64_t, std::span<std::byte>) override {
        return Error{Errc::io, "a pipe cannot be read out of order", ""};
    }

private:
    int fd_;
    Descriptor owned_;
};

// O_TMPFILE has no name at any time; file systems that lack it get a name for a moment.
Result<Descriptor> open_unlinked(const std::string& folder) {
    Descriptor fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd) return fd;
    std::string name = folder + "/gradz-XXXXXX";
    fd = Descriptor(mkostemp(name.data(), O_CLOEXEC));
    if (!fd) return io_error("cannot make a temporary file in " + folder, errno);
    if (unlink(name.c_str()) != 0) return io_error("cannot unlink " + name, errno);
    return fd;
}

}  // namespace

Result<std::unique_ptr<Spool>> Spool::create() {
    const char* folder = std::getenv("TMPDIR");
    GRADZ_TRY(auto fd, open_unlinked(folder && *folder ? folder : "/tmp"));
    return std::unique_ptr<Spool>(new Spool(std::move(fd)));
}

Result<Done> Spool::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error("cannot write to a temporary file", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return Done{};
}

Result<Done> Spool::append(ByteSource& source) {
    std::vector<std::byte> buffer(kBuffer);
    for (;;) {
        GRADZ_TRY(const std::size_t n, source.read(buffer));
        GRADZ_TRY([[maybe_unused]] auto written, write(std::span(buffer).first(n)));
        if (n < buffer.size()) return Done{};
    }
}

std::filesystem::path Spool::path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

Result<std::shared_ptr<MappedFile>> Spool::map() const {
    const int copy = fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return io_error("cannot map a temporary file", errno);
    return map_descriptor(copy);
}

Result<Done> Spool::copy_to(ByteSink& sink) const {
    std::vector<std::byte> buffer(kBuffer);
    for (off_t offset = 0;;) {
        const ssize_t n = pread(fd_.get(), buffer.data(), buffer.size(), offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error("cannot read a temporary file", errno);
        if (n == 0) return Done{};
        GRADZ_TRY([[maybe_unused]] auto written, sink.write(std::span(buffer).first(static_cast<std::size_t>(n))));
        offset += n;
    }
}

std::unique_ptr<ByteSource> read_descriptor(int fd, bool own) { return std::make_unique<DescriptorSource>(fd, own); }

}  // namespace gradz::formats
