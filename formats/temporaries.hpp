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
    ~Temporary();  // unlinks the file, or the folder with the files in it

    const std::filesystem::path& path() const { return path_; }

    // Renames a file: Errc::exists if something is at `target` and `force` is false, Errc::io
    // if what is there is no regular file. Nothing that appeared meanwhile is lost. The
    // directory is synced.
    Result<Done> publish(const std::filesystem::path& target, bool force);

    // Renames a folder; `target` may be absent or an empty folder.
    Result<Done> publish_folder(const std::filesystem::path& target);

private:
    Temporary(std::filesystem::path path, int slot) : path_(std::move(path)), slot_(slot) {}
    void forget();  // it has its final name

    std::filesystem::path path_;
    int slot_;  // of the table that remove_temporaries() walks; -1 once forgotten
};

mode_t current_umask();

}  // namespace gradz::formats
