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

// readdir() may allocate, so a signal handler asks the kernel itself. The folder is one of
// ours: regular files are what was written into it, and anything else keeps it alive.
void remove_files_in(const char* path) {
    const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) return;
    alignas(dirent64) char buffer[4096];
    for (long n; (n = getdents64(folder, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < n;) {
            const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
            if (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) unlinkat(folder, entry->d_name, 0);
            at += entry->d_reclen;
        }
    ::close(folder);
}

void remove_path(const char* path) {
    if (unlink(path) == 0 || (errno != EISDIR && errno != EPERM)) return;
    // Entries that are unlinked while a folder is read may hide others: until it is empty.
    for (int pass = 0; pass < 16 && rmdir(path) != 0; ++pass) remove_files_in(path);
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

Result<Done> sync_folder_of(const fs::path& target) {
    const fs::path folder = target.parent_path().empty() ? fs::path(".") : target.parent_path();
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
    return sync_folder_of(target);
}

Result<Done> Temporary::publish_folder(const fs::path& target) {
    // rename(2) itself replaces a folder only if it is empty, and a file never.
    if (rename(path_.c_str(), target.c_str()) != 0) {
        const int code = errno;
        if (code == ENOTEMPTY || code == EEXIST || code == ENOTDIR)
            return Error{Errc::exists, target.string() + " exists already, and is left alone", ""};
        return io_error("cannot write " + target.string(), code);
    }
    forget();
    return sync_folder_of(target);
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
