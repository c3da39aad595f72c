#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "formats/names.hpp"
#include "formats/npy_elements.hpp"
#include "formats/posix.hpp"
#include "formats/readers.hpp"
#include "formats/temporaries.hpp"

namespace gradz::formats {
namespace {

namespace fs = std::filesystem;

// What the origin says of each tensor, found in one pass; only where it is that of npy.
std::map<std::string, NpyHeader, std::less<>> layouts_of(const Origin& origin) {
    std::map<std::string, NpyHeader, std::less<>> out;
    const std::string* format = origin.find("", "format");
    if (!format || *format != "npy") return out;
    for (const auto& entry : origin.entries) {
        if (entry.object.empty()) continue;
        if (entry.key == "byte_order") out[entry.object].big_endian = entry.value == "big";
        if (entry.key == "order") out[entry.object].fortran = entry.value == "fortran";
        if (entry.key == "npy.version") out[entry.object].major = entry.value == "3" ? 3 : entry.value == "2" ? 2 : 1;
    }
    return out;
}

std::string ordinal(std::size_t index) { return std::to_string(index); }

// One tensor makes a file at `path`, several make a folder there. How many will come is not
// known at first, so that the first file may move into the folder.
class NpyWriter final : public TensorWriter {
public:
    NpyWriter(fs::path path, const Origin& origin, const WriteOptions& options)
        : path_(std::move(path)), layouts_(layouts_of(origin)), options_(options) {}

    Result<Done> begin() {
        std::error_code error;
        if (path_ != "-" && fs::is_directory(path_, error)) return make_folder();
        GRADZ_TRY(output_, create(path_, options_.force, options_.asked));
        if (!options_.like.empty()) output_->copy_times(options_.like);
        return Done{};
    }

    Result<Done> add(std::span<const TensorInfo> more) override {
        for (const auto& info : more) {
            if (auto head = print_npy_header(header_of(info)); !head) {
                head.error().where = "tensor " + info.name;
                return std::move(head.error());
            }
            if (!seen_.emplace(info.name, info.step, info.worker).second)
                return Error{Errc::corrupt, "two tensors have this name, step and worker", "tensor " + info.name};
            infos_.push_back(info);
        }
        return infos_.size() > 1 && !folder_ ? make_folder() : Done{};
    }

    Result<Done> write(std::size_t index, std::uint64_t first, std::span<const std::byte> bytes) override {
        GRADZ_TRY([[maybe_unused]] auto there, advance(index));
        const std::uint64_t size = size_of(infos_[index].dtype);
        if (first != written_ || bytes.size() % size != 0 || bytes.size() / size > elements(index) - written_)
            return Error{Errc::invalid_argument, "elements out of order", "tensor " + infos_[index].name};
        written_ += bytes.size() / size;
        auto done = elements_->write(bytes, *output_);
        if (!done && done.error().code == Errc::unsupported) done.error().where = "tensor " + infos_[index].name;
        return done;
    }

    Result<Done> commit() override {
        if (infos_.empty() && !folder_) return Error{Errc::invalid_argument, "no tensor to write", ""};
        if (!infos_.empty()) {
            GRADZ_TRY([[maybe_unused]] auto there, advance(infos_.size() - 1));
            GRADZ_TRY([[maybe_unused]] auto done, finish_file());
        }
        if (!folder_) return output_->commit();
        GRADZ_TRY([[maybe_unused]] auto named, name_files());
        return folder_->publish();
    }

private:
    std::uint64_t elements(std::size_t index) const { return infos_[index].numel() ? *infos_[index].numel() : 0; }

    NpyHeader header_of(const TensorInfo& info) const {
        const auto known = layouts_.find(info.name);
        NpyHeader header = known == layouts_.end() ? NpyHeader{} : known->second;
        header.dtype = info.dtype;
        header.shape = info.shape;
        return header;
    }

    Result<Done> make_folder() {
        if (output_ && !output_->seekable())
            return Error{Errc::invalid_argument,
                         "several tensors as npy need a folder, and " + path_.string() + " is none", ""};
        if (output_ && options_.force && fs::exists(path_))
            return Error{Errc::exists, path_.string() + " is a file, and several tensors as npy need a folder", ""};
        GRADZ_TRY(auto made, TemporaryFolder::create(path_, options_.force));
        folder_.emplace(std::move(made));
        if (output_) output_->redirect(folder_->path() / ordinal(0));
        return Done{};
    }

    // Completes the files before `index`, those of tensors without elements too, and opens its own.
    Result<Done> advance(std::size_t index) {
        if (index >= infos_.size() || (elements_ && index < current_))
            return Error{Errc::invalid_argument, "tensors out of order", ""};
        while (!elements_ || current_ < index) {
            if (elements_) {
                GRADZ_TRY([[maybe_unused]] auto done, finish_file());
                GRADZ_TRY([[maybe_unused]] auto committed, output_->commit());
                ++current_;
            }
            if (current_ > 0 || !output_) { GRADZ_TRY(output_, create(folder_->path() / ordinal(current_), false)); }
            const auto header = header_of(infos_[current_]);
            GRADZ_TRY(const auto head, print_npy_header(header));
            GRADZ_TRY([[maybe_unused]] auto written, output_->write(head));
            elements_.emplace(header, options_.memory);
            written_ = 0;
        }
        return Done{};
    }

    Result<Done> finish_file() {
        const std::string where = "tensor " + infos_[current_].name;
        if (written_ != elements(current_)) return Error{Errc::invalid_argument, "elements are missing", where};
        return elements_->finish(*output_);
    }

    // Only now is it known whether steps and workers tell tensors apart.
    Result<Done> name_files() {
        GRADZ_TRY([[maybe_unused]] auto committed, infos_.empty() ? Done{} : output_->commit());
        const auto differs = [&](auto member) {
            return std::any_of(infos_.begin(), infos_.end(),
                               [&](const auto& info) { return info.*member != infos_[0].*member; });
        };
        const bool steps = differs(&TensorInfo::step), workers = differs(&TensorInfo::worker);
        for (std::size_t i = 0; i < infos_.size(); ++i) {
            const auto said = split_name(infos_[i].name);
            std::string name = encode_file_name(infos_[i].name);
            if (steps && said.step != infos_[i].step) name += "_step_" + std::to_string(infos_[i].step);
            if (workers && said.worker != infos_[i].worker) name += "_rank_" + std::to_string(infos_[i].worker);
            const auto target = folder_->path() / (name + ".npy");
            std::error_code error;
            if (fs::exists(target, error))
                return Error{Errc::unsupported, "two tensors would have the file name " + name + ".npy",
                             "tensor " + infos_[i].name};
            fs::rename(folder_->path() / ordinal(i), target, error);
            if (error) return io_error("cannot write " + target.string(), error.value());
        }
        return Done{};
    }

    fs::path path_;
    std::map<std::string, NpyHeader, std::less<>> layouts_;
    WriteOptions options_;
    std::vector<TensorInfo> infos_;
    std::set<std::tuple<std::string, std::uint64_t, std::uint64_t>> seen_;
    std::optional<TemporaryFolder> folder_;  // outlives output_, which lies in it
    std::unique_ptr<Output> output_;         // of tensor current_
    std::optional<ElementWriter> elements_;  // likewise; nothing before the first file
    std::size_t current_ = 0;
    std::uint64_t written_ = 0;  // elements of tensor current_
};

}  // namespace

Result<std::unique_ptr<TensorWriter>> create_npy(const fs::path& path, const Origin& origin,
                                                 const WriteOptions& options) {
    auto writer = std::make_unique<NpyWriter>(path, origin, options);
    GRADZ_TRY([[maybe_unused]] auto begun, writer->begin());
    return std::unique_ptr<TensorWriter>(std::move(writer));
}

}  // namespace gradz::formats
