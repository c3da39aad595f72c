#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "formats/folder_names.hpp"
#include "formats/layout.hpp"
#include "formats/names.hpp"
#include "formats/posix.hpp"
#include "formats/readers.hpp"

namespace gradz::formats {
namespace {

namespace fs = std::filesystem;

struct Stamp {  // of a file whose bytes did not change
    off_t size = 0;
    timespec mtime = {};
    bool operator==(const Stamp& o) const {
        return size == o.size && mtime.tv_sec == o.mtime.tv_sec && mtime.tv_nsec == o.mtime.tv_nsec;
    }
};

struct File {
    std::string relative;
    std::size_t first, count;  // its tensors among those of the folder
    Stamp stamp;
};

// One of the files below the folder, by what the listing says.
struct Entry {
    std::string relative;
    bool folder_link;  // a symlink to a folder: not followed, since it may lead in circles
};

bool before(const fs::path& a, const fs::path& b) {
    auto i = a.begin(), j = b.begin();
    for (; i != a.end() && j != b.end(); ++i, ++j)
        if (const auto order = compare_natural(i->string(), j->string()); order != 0) return order < 0;
    return i == a.end() && j != b.end();
}

// Files in natural order, hidden ones left out.
Result<std::vector<Entry>> list_files(const fs::path& folder) {
    std::vector<Entry> out;
    std::error_code error;
    fs::recursive_directory_iterator at(folder, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
        std::error_code ignored;
        const bool hidden = at->path().filename().string().starts_with('.');
        const bool folder_here = at->is_directory(ignored), link = at->is_symlink(ignored);
        if (hidden && folder_here && !link) at.disable_recursion_pending();
        if (hidden || (folder_here && !link)) continue;
        out.push_back({at->path().lexically_relative(folder).string(), folder_here});
    }
    if (error) return io_error("cannot list the folder", error.value());
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return before(a.relative, b.relative); });
    return out;
}

bool claims_a_format(const std::string& relative) {
    std::string extension = fs::path(relative).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) {
        return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c);
    });
    static constexpr std::string_view kOurs[] = {".npy", ".npz", ".h5", ".hdf5", ".safetensors"};
    return std::find(std::begin(kOurs), std::end(kOurs), extension) != std::end(kOurs);
}

// The elements of a tensor keep the reader of their file alive: the folder itself holds only
// the file that was opened last, however many there are.
class FileElements final : public ChunkSource {
public:
    FileElements(std::shared_ptr<TensorReader> reader, std::unique_ptr<ChunkSource> inner)
        : reader_(std::move(reader)), inner_(std::move(inner)) {}
    Access access() const override { return inner_->access(); }
    Result<std::span<const std::byte>> read(Chunk chunk, std::vector<std::byte>& buffer) override {
        return inner_->read(chunk, buffer);
    }
    Result<Done> release(Chunk chunk) override { return inner_->release(chunk); }

private:
    std::shared_ptr<TensorReader> reader_;
    std::unique_ptr<ChunkSource> inner_;  // dies first
};

class FolderReader final : public TensorReader {
public:
    FolderReader(fs::path root, const ReadOptions& options) : root_(std::move(root)), options_(options) {
        // The folder's own name counts for all its tensors, unless --name stands for it.
        if (options_.name.empty()) own_ = split_name(own_name().string());
        options_.name.clear();
        origin_.set("", "format", "folder");
    }

    Result<Done> scan() {
        GRADZ_TRY(const auto entries, list_files(root_));
        for (const auto& entry : entries) {
            if (entry.folder_link) {
                skipped_.push_back({entry.relative, "a link to a folder"});
                continue;
            }
            auto added = add(entry.relative);
            if (!added) return inside(std::move(added.error()), entry.relative);
        }
        return check_distinct(tensors_);
    }

    const std::vector<TensorInfo>& tensors() const override { return tensors_; }
    const std::vector<Skipped>& skipped() const override { return skipped_; }
    const Origin& origin() const override { return origin_; }
    const std::vector<std::string>& warnings() const override { return warnings_; }
    bool rereadable() const override { return true; }

    Result<std::unique_ptr<ChunkSource>> open(std::size_t index) override {
        const auto file = std::prev(std::upper_bound(files_.begin(), files_.end(), index,
                                                     [](std::size_t i, const File& f) { return i < f.first; }));
        auto opened = reader_of(*file);
        if (!opened) return inside(std::move(opened.error()), file->relative);
        auto inner = (*opened)->open(index - file->first);
        if (!inner) return inside(std::move(inner.error()), file->relative);
        return std::unique_ptr<ChunkSource>(std::make_unique<FileElements>(*opened, std::move(*inner)));
    }

    Result<Done> finish() override {
        current_.reset();
        for (const auto& file : files_)
            if (auto same = unchanged(file); !same) return inside(std::move(same.error()), file.relative);
        return Done{};
    }

private:
    fs::path own_name() const {
        const auto name = root_.has_filename() ? root_.filename() : root_.parent_path().filename();
        std::error_code error;
        return name == "." || name == ".." ? fs::canonical(root_, error).filename() : name;
    }

    static Error inside(Error error, const std::string& relative) {
        error.where += (error.where.empty() ? "" : " < ") + relative;
        return error;
    }

    Result<Stamp> stamp_of(const std::string& relative) const {
        struct stat info;
        if (stat((root_ / relative).c_str(), &info) != 0) return io_error("cannot open", errno);
        return Stamp{info.st_size, info.st_mtim};
    }

    Result<Done> unchanged(const File& file) const {
        GRADZ_TRY(const auto now, stamp_of(file.relative));
        if (now == file.stamp) return Done{};
        return Error{Errc::io, "file changed while being read", ""};
    }

    Result<std::unique_ptr<TensorReader>> open_inner(const std::string& relative) const {
        const auto place = place_of(relative);
        const auto either = [](auto a, auto b) { return a ? a : b; };
        const FileIdentity identity{(root_ / relative).string(), place.prefix, either(place.step, own_.step),
                                    either(place.worker, own_.worker)};
        return open_file(root_ / relative, identity, options_);
    }

    // A file that is no dump at all lies there for other reasons and is skipped; one whose
    // extension says that it is a dump is damaged, and the folder with it.
    Result<bool> is_dump(const std::string& relative) {
        struct stat info;
        if (stat((root_ / relative).c_str(), &info) != 0) return io_error("cannot open", errno);
        if (S_ISREG(info.st_mode)) {
            GRADZ_TRY(const auto file, map_file(root_ / relative));
            const auto reason = file->bytes().empty() ? "empty file" : why_not_read(detect_layout(file->bytes()));
            if (reason.empty() || claims_a_format(relative)) return true;
            skipped_.push_back({relative, reason});
        } else {
            skipped_.push_back({relative, "no regular file"});
        }
        return false;
    }

    Result<Done> add(const std::string& relative) {
        GRADZ_TRY(const bool dump, is_dump(relative));
        if (!dump) return Done{};
        GRADZ_TRY(const auto stamp, stamp_of(relative));
        GRADZ_TRY(const auto reader, open_inner(relative));
        const auto& inner = reader->tensors();
        const auto& origin = reader->origin();
        const std::string* format = origin.find("", "format");
        const auto prefix = place_of(relative).prefix;
        for (auto info : inner) {
            info.name = name_in_folder(prefix, info.name, format && *format == "npy");
            tensors_.push_back(std::move(info));
        }
        const std::size_t first = tensors_.size() - inner.size();
        // Files without tensors are kept too, so that they come back.
        origin_.set(relative, "folder.file", std::to_string(first) + " " + std::to_string(inner.size()));
        std::copy(origin.entries.begin(), origin.entries.end(), std::back_inserter(origin_.entries));
        for (const auto& s : reader->skipped()) skipped_.push_back({relative + ": " + s.name, s.reason});
        for (const auto& w : reader->warnings()) warnings_.push_back(relative + ": " + w);
        files_.push_back({relative, first, inner.size(), stamp});
        return Done{};
    }

    Result<std::shared_ptr<TensorReader>> reader_of(const File& file) {
        if (current_ && current_file_ == &file) return current_;
        current_.reset();
        GRADZ_TRY([[maybe_unused]] auto same, unchanged(file));
        GRADZ_TRY(auto reader, open_inner(file.relative));
        if (reader->tensors().size() != file.count) return Error{Errc::io, "file changed while being read", ""};
        current_ = std::move(reader);
        current_file_ = &file;
        return current_;
    }

    fs::path root_;
    ReadOptions options_;
    NameParts own_;
    std::vector<TensorInfo> tensors_;
    std::vector<Skipped> skipped_;
    std::vector<std::string> warnings_;
    Origin origin_;
    std::vector<File> files_;
    std::shared_ptr<TensorReader> current_;
    const File* current_file_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<TensorReader>> open_folder(const fs::path& path, const ReadOptions& options) {
    auto reader = std::make_unique<FolderReader>(path, options);
    GRADZ_TRY([[maybe_unused]] auto scanned, reader->scan());
    return std::unique_ptr<TensorReader>(std::move(reader));
}

}  // namespace gradz::formats
