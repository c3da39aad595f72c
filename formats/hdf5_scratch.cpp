#include "formats/hdf5_scratch.hpp"

#include <cstdlib>
#include <vector>

namespace gradz::formats {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

Result<Temporary> temporary_name() {
    const char* const folder = std::getenv("TMPDIR");
    return Temporary::beside(std::filesystem::path(folder && *folder ? folder : "/tmp") / "hdf5");
}

Hid open_to_read(const std::filesystem::path& path, hid_t access) {
    return Hid(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access));
}

}  // namespace

Result<Hdf5Scratch> Hdf5Scratch::create() {
    GRADZ_TRY(auto name, temporary_name());
    Hdf5Scratch out(std::move(name));
    out.fd_ = Descriptor(::open(out.name().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!out.fd_) return io_error("cannot make a temporary file " + out.name().string(), errno);
    return out;
}

std::filesystem::path Hdf5Scratch::path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

Result<Done> Hdf5Scratch::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error("cannot write to a temporary file", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return Done{};
}

Result<Done> Hdf5Scratch::copy_to(ByteSink& sink) const {
    std::vector<std::byte> buffer(kBuffer);
    for (off_t offset = 0;;) {
        const ssize_t n = pread(fd_.get(), buffer.data(), buffer.size(), offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error("cannot read a temporary file", errno);
        if (n == 0) return Done{};
        GRADZ_TRY(Done{}, sink.write(std::span(buffer).first(static_cast<std::size_t>(n))));
        offset += n;
    }
}

bool is_nameless(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_symlink(path, error) && std::filesystem::canonical(path, error).empty();
}

Result<Hid> open_nameless(const std::filesystem::path& path, std::span<const std::byte> bytes, hid_t access) {
    {
        GRADZ_TRY(const auto name, temporary_name());  // its file goes with it, open or not
        if (linkat(AT_FDCWD, path.c_str(), AT_FDCWD, name.path().c_str(), AT_SYMLINK_FOLLOW) == 0)
            return open_to_read(name.path(), access);
    }
    GRADZ_TRY(auto copy, Hdf5Scratch::create());
    GRADZ_TRY(Done{}, copy.write(bytes));
    return open_to_read(copy.name(), access);
}

}  // namespace gradz::formats
