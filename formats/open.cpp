#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "formats/layout.hpp"
#include "formats/names.hpp"
#include "formats/posix.hpp"
#include "formats/readers.hpp"
#include "formats/spool.hpp"

namespace gradz::formats {
namespace {

namespace fs = std::filesystem;

// The first bytes of a pipe, which were needed to know what it carries, and then the rest.
class Rewound final : public ByteSource {
public:
    Rewound(std::vector<std::byte> start, std::unique_ptr<ByteSource> rest)
        : start_(std::move(start)), rest_(std::move(rest)) {}

    Result<std::size_t> read(std::span<std::byte> into) override {
        const std::size_t n = std::min(into.size(), start_.size() - at_);
        std::copy_n(start_.begin() + static_cast<std::ptrdiff_t>(at_), n, into.begin());
        at_ += n;
        if (n == into.size()) return n;
        GRADZ_TRY(const std::size_t more, rest_->read(into.subspan(n)));
        return n + more;
    }
    std::optional<std::uint64_t> size() const override { return std::nullopt; }
    Result<Done> read_at(std::uint64_t, std::span<std::byte>) override {
        return Error{Errc::io, "a pipe cannot be read out of order", ""};
    }

private:
    std::vector<std::byte> start_;
    std::size_t at_ = 0;
    std::unique_ptr<ByteSource> rest_;
};

// path: where HDF5 finds the file once more.
Result<std::unique_ptr<TensorReader>> dispatch(std::shared_ptr<MappedFile> file, const fs::path& path,
                                               const FileIdentity& identity, const ReadOptions& options) {
    if (options.raw) return open_raw(std::move(file), identity, options);
    if (file->bytes().empty()) return Error{Errc::truncated, "empty file", ""};
    const Layout layout = detect_layout(file->bytes());
    switch (layout) {
        case Layout::npy: return open_npy(std::move(file), identity, options);
        case Layout::npz: return open_npz(std::move(file), identity, options);
        case Layout::safetensors: return open_safetensors(std::move(file), identity, options);
        case Layout::hdf5: return open_hdf5(path, identity, options);
        default: return Error{Errc::unsupported, why_not_read(layout), ""};
    }
}

Result<std::unique_ptr<TensorReader>> open_pipe(std::unique_ptr<ByteSource> pipe, const FileIdentity& identity,
                                                const ReadOptions& options) {
    if (options.raw) return open_raw_stream(std::move(pipe), identity, options);
    std::vector<std::byte> start(6);  // of the npy magic
    GRADZ_TRY(const std::size_t n, pipe->read(start));
    start.resize(n);
    const bool npy = detect_layout(start) == Layout::npy;
    Rewound whole(std::move(start), std::move(pipe));
    if (npy) return open_npy_stream(std::make_unique<Rewound>(std::move(whole)), identity, options);
    GRADZ_TRY(auto spool, Spool::create());
    GRADZ_TRY([[maybe_unused]] auto copied, spool->append(whole));
    GRADZ_TRY(auto file, spool->map());
    return dispatch(std::move(file), spool->path(), identity, options);
}

// Standard input: mapped where it is a file that nobody has read from yet.
Result<std::unique_ptr<TensorReader>> open_stdin(const ReadOptions& options) {
    const FileIdentity identity{"stdin", options.name, std::nullopt, std::nullopt};
    struct stat info;
    if (fstat(STDIN_FILENO, &info) != 0) return io_error("cannot read standard input", errno);
    if (S_ISDIR(info.st_mode)) return Error{Errc::unsupported, "standard input is a directory", ""};
    if (!S_ISREG(info.st_mode) || lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
        return open_pipe(read_descriptor(STDIN_FILENO, false), identity, options);
    Descriptor copy(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!copy) return io_error("cannot read standard input", errno);
    GRADZ_TRY(auto file, map_descriptor(copy.take()));
    return dispatch(std::move(file), "/proc/self/fd/0", identity, options);
}

// FIFOs, devices and process substitution (/dev/fd/63) have no name of their own.
Result<std::unique_ptr<TensorReader>> open_special(const fs::path& path, const ReadOptions& options) {
    const FileIdentity identity{path.string(), options.name, std::nullopt, std::nullopt};
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd) return io_error("cannot open", errno);
    return open_pipe(read_descriptor(fd.take(), true), identity, options);
}

Result<std::unique_ptr<TensorReader>> open_any(const fs::path& path, const ReadOptions& options) {
    if (path == "-" || path == "/dev/stdin") return open_stdin(options);
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return io_error("cannot open", errno);
    if (S_ISDIR(info.st_mode)) {
        if (options.raw)
            return Error{Errc::invalid_argument, "raw values are read from one file, not from a folder", ""};
        return open_folder(path, options);
    }
    return S_ISREG(info.st_mode) ? open_file(path, identify(path, options), options) : open_special(path, options);
}

}  // namespace

Result<std::unique_ptr<TensorReader>> open_file(const fs::path& path, const FileIdentity& identity,
                                                const ReadOptions& options) {
    GRADZ_TRY(auto file, map_file(path));
    return dispatch(std::move(file), path, identity, options);
}

Result<std::unique_ptr<TensorReader>> open_tensors(const fs::path& path, const ReadOptions& options) {
    GRADZ_TRY(auto reader, open_any(path, options));
    if (!reader->tensors().empty()) return reader;
    const auto& skipped = reader->skipped();
    return Error{Errc::unsupported, "no tensor",
                 skipped.empty() ? "" : skipped.front().name + " is skipped: " + skipped.front().reason};
}

}  // namespace gradz::formats
