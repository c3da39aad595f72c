#include "formats/temporaries.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "formats/output_file.hpp"
#include "formats/posix.hpp"

namespace gradz::formats {
namespace {

namespace fs = std::filesystem;

// What a signal handler can walk: no allocation, no lock. A path is only read while `live`.
struct Slot {
    std::atomic<bool> taken{false}, live{false};
    char path[4096];
};
std::array<Slot, 32> slots;

int register_path(const std::string& path) {
    if (path.size() >= sizeof(Slot::path)) return -1;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        bool expected = false;
        if (!slots[i].taken.compare_exchange_strong(expected, true)) continue;
        std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
        slots[i].live = true;
        return static_cast<int>(i);
    }
    return -1;
}

constexpr int kMaxDepth = 64;  // folders in folders; each level takes 4 KiB of stack

// readdir() may allocate, so a signal handler asks the kernel itself. All of it was written by
// us: a name of ours stands at its top.
void remove_folder_at(int parent, const char* name, int depth) {
    const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) return;
    alignas(dirent64) char buffer[4096];
    for (long n; (n = getdents64(folder, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < n;) {
            const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
            at += entry->d_reclen;
            const char* inner = entry->d_name;
            if (inner[0] == '.' && (inner[1] == 0 || (inner[1] == '.' && inner[2] == 0))) continue;
            if (unlinkat(folder, inner, 0) != 0 && depth < kMaxDepth) remove_folder_at(folder, inner, depth + 1);
        }
    ::close(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void remove_path(const char* path) {
    if (unlink(path) == 0 || errno == ENOENT) return;
    // Entries that go while a folder is read may hide others: once more where it is still there.
    struct stat info;
    for (int pass = 0; pass < 4 && lstat(path, &info) == 0; ++pass) remove_folder_at(AT_FDCWD, path, 0);
}

// Without RENAME_NOREPLACE (some network file systems) a hard link does the same, and where
// there are no hard links either, the name is first taken by an empty file of ours.
int rename_to_absent(const char* from, const char* to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
    if (link(from, to) == 0) return unlink(from) == 0 ? 0 : errno;
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS) return errno;
    const int placeholder = ::open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (placeholder < 0) return errno;
    ::close(placeholder);
    return rename(from, to) == 0 ? 0 : errno;
}

Result<Done> sync_folder(const fs::path& path) {
    const fs::path folder = path.empty() ? fs::path(".") : path;
    const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd && errno == EACCES) return Done{};  // a folder that may be written but not read
    if (!fd) return io_error("cannot open " + folder.string(), errno);
    if (fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
        return io_error("cannot sync " + folder.string(), errno);
    return Done{};
}

}  // namespace

Result<Temporary> Temporary::beside(const fs::path& target) {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return io_error("no random numbers", errno);
    char name[40];
    std::snprintf(name, sizeof name, ".gradz-%016llx.tmp", static_cast<unsigned long long>(random));
    fs::path path = target.parent_path() / name;
    const int slot = register_path(path.string());
    if (slot < 0)
        return Error{Errc::io, "cannot write " + target.string() + ": too many unfinished outputs or too long a path",
                     ""};
    return Temporary(std::move(path), slot);
}

Temporary::Temporary(Temporary&& other) noexcept
    : path_(std::move(other.path_)), slot_(std::exchange(other.slot_, -1)) {}

Temporary::~Temporary() {
    if (slot_ < 0) return;
    remove_path(path_.c_str());
    forget();
}

void Temporary::forget() {
    auto& slot = slots[static_cast<std::size_t>(slot_)];
    slot.live = false;
    slot.taken = false;
    slot_ = -1;
}

Result<Done> Temporary::publish(const fs::path& target, bool force) {
    struct stat info;
    if (force && lstat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
        return Error{Errc::io, target.string() + " is no regular file any more, and is left alone", ""};
    const int code = !force                                       ? rename_to_absent(path_.c_str(), target.c_str())
                     : rename(path_.c_str(), target.c_str()) == 0 ? 0
                                                                  : errno;
    if (code == EEXIST) return Error{Errc::exists, target.string() + " appeared meanwhile, and is left alone", ""};
    if (code != 0) return io_error("cannot write " + target.string(), code);
    forget();
    return sync_folder(target.parent_path());
}

Result<TemporaryFolder> TemporaryFolder::create(fs::path target, bool force) {
    if (!target.has_filename()) target = target.parent_path();  // "out/"
    struct stat info;
    if (lstat(target.c_str(), &info) == 0) {
        std::error_code error;
        if (!S_ISDIR(info.st_mode) || !fs::is_empty(target, error) || error)
            return Error{Errc::exists, target.string() + " exists already, and only an empty folder is replaced", ""};
        if (!force) return Error{Errc::exists, target.string() + " exists already (-f overwrites)", ""};
    }
    GRADZ_TRY(auto temporary, Temporary::beside(target));
    if (mkdir(temporary.path().c_str(), 0700) != 0) return io_error("cannot write " + target.string(), errno);
    return TemporaryFolder(std::move(temporary), std::move(target));
}

Result<Done> TemporaryFolder::publish() {
    const auto& path = temporary_.path();
    if (chmod(path.c_str(), 0777 & ~current_umask()) != 0) return io_error("cannot write " + target_.string(), errno);
    GRADZ_TRY([[maybe_unused]] auto synced, sync_folder(path));
    // rename(2) itself replaces a folder only if it is empty, and a file never.
    if (rename(path.c_str(), target_.c_str()) != 0) {
        const int code = errno;
        if (code == ENOTEMPTY || code == EEXIST || code == ENOTDIR)
            return Error{Errc::exists, target_.string() + " appeared meanwhile, and is left alone", ""};
        return io_error("cannot write " + target_.string(), code);
    }
    temporary_.forget();
    return sync_folder(target_.parent_path());
}

// umask(2) tells only by setting: the safe value stands in for a moment.
mode_t current_umask() {
    const mode_t mask = umask(077);
    umask(mask);
    return mask;
}

void remove_temporaries() {
    const int saved = errno;
    for (auto& slot : slots)
        if (slot.live) remove_path(slot.path);
    errno = saved;
}

}  // namespace gradz::formats
