// Files and folders that are not complete yet: beside their target under a random name, gone
// when the object dies or a signal ends the process, at their place after publish().
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "core/error.hpp"

namespace gradz::formats {

class Temporary {
public:
    // Chooses and registers a name; the caller makes the file (O_EXCL) or the folder there.
    // Errc::io if too many exist at once.
    static Result<Temporary> beside(const std::filesystem::path& target);

    Temporary(Temporary&& other) noexcept;
    Temporary& operator=(Temporary&&) = delete;
    ~Temporary();  // unlinks the file, or the folder with all that is in it

    const std::filesystem::path& path() const { return path_; }

    // Renames a file: Errc::exists if something is at `target` and `force` is false, Errc::io
    // if what is there is no regular file. Nothing that appeared meanwhile is lost. The
    // directory is synced.
    Result<Done> publish(const std::filesystem::path& target, bool force);

private:
    friend class TemporaryFolder;
    Temporary(std::filesystem::path path, int slot) : path_(std::move(path)), slot_(slot) {}
    void forget();  // it has its final name

    std::filesystem::path path_;
    int slot_;  // of the table that remove_temporaries() walks; -1 once forgotten
};

// A folder that appears whole. Its files are written below path() by their final names.
class TemporaryFolder {
public:
    // Errc::exists unless `target` is absent, or an empty folder and `force` is true: what
    // lies in a folder is never removed.
    static Result<TemporaryFolder> create(std::filesystem::path target, bool force);

    const std::filesystem::path& path() const { return temporary_.path(); }
    Result<Done> publish();

private:
    TemporaryFolder(Temporary temporary, std::filesystem::path target)
        : temporary_(std::move(temporary)), target_(std::move(target)) {}

    Temporary temporary_;
    std::filesystem::path target_;
};

mode_t current_umask();

}  // namespace gradz::formats
