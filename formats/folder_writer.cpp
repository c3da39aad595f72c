#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "formats/folder_names.hpp"
#include "formats/names.hpp"
#include "formats/posix.hpp"
#include "formats/readers.hpp"
#include "formats/temporaries.hpp"

namespace gradz::formats {
namespace {

namespace fs = std::filesystem;

struct File {
    std::vector<std::string> components;  // safe to join
    FolderPlace place;
    std::uint64_t count = 0;  // tensors that it had
    Format format = Format::npy;
    Origin origin;
    std::vector<TensorInfo> tensors;  // that came so far, by their names in the file
};

// "FIRST COUNT"; the first ordinal is for people and readers of the stream.
Result<std::uint64_t> count_of(const std::string& value) {
    const char* end = value.data() + value.size();
    std::uint64_t first = 0, count = 0;
    const auto a = std::from_chars(value.data(), end, first);
    if (a.ec == std::errc() && a.ptr != end && *a.ptr == ' ')
        if (const auto b = std::from_chars(a.ptr + 1, end, count); b.ec == std::errc() && b.ptr == end) return count;
    return Error{Errc::corrupt, "'" + value + "' is no range of tensors", "origin"};
}

Result<std::vector<File>> files_of(const Origin& origin) {
    std::vector<File> files;
    for (const auto& entry : origin.entries) {
        if (entry.key == "folder.file") {
            File file;
            GRADZ_TRY(file.components, safe_components(entry.object));
            GRADZ_TRY(file.count, count_of(entry.value));
            file.place = place_of(entry.object);
            files.push_back(std::move(file));
        } else if (!files.empty()) {
            files.back().origin.entries.push_back(entry);
        }
    }
    for (auto& file : files) {
        const std::string* format = file.origin.find("", "format");
        if (!format) return Error{Errc::corrupt, "a file without a format", "origin"};
        GRADZ_TRY(file.format, format_of(*format));
    }
    return files;
}

// Tensors and files come in the same order, so that one file at a time is open.
class FolderWriter final : public TensorWriter {
public:
    FolderWriter(TemporaryFolder folder, std::vector<File> files, const WriteOptions& options)
        : folder_(std::move(folder)), files_(std::move(files)), options_(options) {
        options_.force = options_.asked = false;  // all is new in a new folder
        options_.like.clear();
    }

    Result<Done> add(std::span<const TensorInfo> more) override {
        for (const auto& info : more) {
            const auto found = file_of(info);
            if (!found) return Error{Errc::invalid_argument, "belongs to no file of the folder", "tensor " + info.name};
            cursor_ = *found;
            auto& file = files_[cursor_];
            TensorInfo inner = info;
            inner.name = *name_in_file(file.place.prefix, info.name, file.format == Format::npy);
            places_.push_back({cursor_, file.tensors.size()});
            file.tensors.push_back(inner);
            if (writer_ && cursor_ == current_)
                if (auto added = writer_->add({&inner, 1}); !added) return added;
        }
        return Done{};
    }

    Result<Done> write(std::size_t index, std::uint64_t first, std::span<const std::byte> bytes) override {
        if (index >= places_.size()) return Error{Errc::invalid_argument, "no such tensor", ""};
        const auto place = places_[index];
        GRADZ_TRY([[maybe_unused]] auto there, advance(place.file));
        if (!writer_ || current_ != place.file) return Error{Errc::invalid_argument, "tensors out of order", ""};
        return writer_->write(place.tensor, first, bytes);
    }

    Result<Done> commit() override {
        GRADZ_TRY([[maybe_unused]] auto all, advance(files_.size()));
        return folder_.publish();
    }

private:
    struct Place {
        std::size_t file, tensor;
    };

    // Same names may come again in files of other steps. --step replaces what names say, so
    // that a match of the name alone is the second choice.
    std::optional<std::size_t> file_of(const TensorInfo& info) const {
        for (const bool strict : {true, false})
            for (std::size_t i = cursor_; i < files_.size(); ++i) {
                const auto& file = files_[i];
                const bool room = file.tensors.size() < file.count;
                if (!room || !name_in_file(file.place.prefix, info.name, file.format == Format::npy)) continue;
                const bool same = file.place.step.value_or(info.step) == info.step &&
                                  file.place.worker.value_or(info.worker) == info.worker;
                if (same || !strict) return i;
            }
        return std::nullopt;
    }

    // Completes all files before `target` and opens that one. Files that had no tensor come
    // back; those whose tensors were all left out do not.
    Result<Done> advance(std::size_t target) {
        while (current_ < target || (current_ == target && !writer_)) {
            if (writer_) {
                GRADZ_TRY([[maybe_unused]] auto committed, writer_->commit());
                writer_.reset();
                ++current_;
            }
            if (current_ == files_.size()) break;
            const auto& file = files_[current_];
            if (file.tensors.empty() && file.count > 0) {
                ++current_;
                continue;
            }
            GRADZ_TRY([[maybe_unused]] auto opened, open(file));
        }
        return Done{};
    }

    Result<Done> open(const File& file) {
        fs::path path = folder_.path();
        for (std::size_t i = 0; i + 1 < file.components.size(); ++i) {
            path /= file.components[i];
            if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
                return io_error("cannot make the folder " + path.string(), errno);
        }
        GRADZ_TRY(writer_, create_tensors(path / file.components.back(), file.format, file.origin, options_));
        return writer_->add(file.tensors);
    }

    TemporaryFolder folder_;  // dies after the writer of a file in it
    std::vector<File> files_;
    WriteOptions options_;
    std::vector<Place> places_;  // of each tensor
    std::unique_ptr<TensorWriter> writer_;
    std::size_t current_ = 0;  // the file of writer_, or the next one
    std::size_t cursor_ = 0;   // the file of the last tensor that was added
};

}  // namespace

Result<std::unique_ptr<TensorWriter>> create_folder(const fs::path& path, const Origin& origin,
                                                    const WriteOptions& options) {
    if (path == "-") return Error{Errc::invalid_argument, "a folder cannot go to standard output", ""};
    GRADZ_TRY(auto files, files_of(origin));
    GRADZ_TRY(auto folder, TemporaryFolder::create(path, options.force));
    return std::unique_ptr<TensorWriter>(std::make_unique<FolderWriter>(std::move(folder), std::move(files), options));
}

}  // namespace gradz::formats
