// HDF5 files. All calls of libhdf5 happen under one lock (hdf5_handle.hpp); values that lie
// flat in the file are mapped and need no call at all.
#include <unistd.h>

#include "formats/hdf5_source.hpp"
#include "formats/hdf5_visit.hpp"
#include "formats/names.hpp"

namespace gradz::formats {
namespace {

constexpr std::uint64_t kLargestUserBlock = std::uint64_t{1} << 20;  // bytes that are kept; more are dropped

class Hdf5Reader final : public TensorReader {
public:
    Hdf5Reader(Hid file, std::shared_ptr<MappedFile> mapped, Hdf5Contents contents, std::uint64_t memory)
        : file_(std::move(file)), mapped_(std::move(mapped)), contents_(std::move(contents)), memory_(memory) {}

    const std::vector<TensorInfo>& tensors() const override { return contents_.tensors; }
    const std::vector<Skipped>& skipped() const override { return contents_.skipped; }
    const Origin& origin() const override { return contents_.origin; }
    const std::vector<std::string>& warnings() const override { return contents_.warnings; }
    bool rereadable() const override { return true; }
    Result<Done> finish() override { return mapped_->unchanged(); }

    Result<std::unique_ptr<ChunkSource>> open(std::size_t index) override {
        const Hdf5Session session;
        return make_hdf5_source(file_.get(), mapped_, contents_.tensors[index], contents_.places[index], memory_ / 4);
    }

private:
    Hid file_;
    std::shared_ptr<MappedFile> mapped_;
    Hdf5Contents contents_;
    std::uint64_t memory_;
};

bool starts(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// Read-only and NFS mounts may refuse locks, and so does a process that has the file open
// for writing: the file is read without one, and the caller told.
Result<Hid> open_file(const std::filesystem::path& path, std::vector<std::string>& warnings) {
    GRADZ_TRY(const auto access, checked(H5Pcreate(H5P_FILE_ACCESS)));
    Hid file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
    auto message = file ? std::string() : hdf5_message();
    if (!file && starts(message, "unable to lock file")) {
        H5Pset_file_locking(access.get(), false, true);
        file = Hid(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
        if (file) warnings.push_back("read without a lock: " + message);
        if (!file) message = hdf5_message();
    }
    if (!file)
        return Error{starts(message, "truncated file") ? Errc::truncated : Errc::corrupt, "HDF5: " + message, ""};
    return file;
}

Result<Done> read_user_block(hid_t file, const MappedFile& mapped, Hdf5Contents& contents) {
    const Hid properties(H5Fget_create_plist(file));
    hsize_t size = 0;
    if (!properties || H5Pget_userblock(properties.get(), &size) < 0) return hdf5_error(Errc::corrupt, "", "");
    if (size == 0) return Done{};
    std::vector<OriginEntry> entries{{"", "hdf5.userblock", std::to_string(size)}};
    if (size <= kLargestUserBlock && size <= mapped.bytes().size()) {
        const std::string bytes(reinterpret_cast<const char*>(mapped.bytes().data()), size);
        if (bytes.find_first_not_of('\0') != bytes.npos) entries.push_back({"", "hdf5.userblock_data", bytes});
    } else {
        contents.warnings.push_back("user block of " + std::to_string(size) + " bytes: contents dropped");
    }
    auto& all = contents.origin.entries;
    all.insert(all.begin() + 1, entries.begin(), entries.end());  // behind "format"
    return Done{};
}

Error no_tensor(const Hdf5Contents& contents) {
    std::string what = "no tensor in the HDF5 file";
    if (!contents.skipped.empty()) {
        const auto& first = contents.skipped.front();
        what += "; " + std::to_string(contents.skipped.size()) + " skipped: " + first.name + " (" + first.reason + ")";
        if (contents.skipped.size() > 1) what += ", …";
    }
    return {Errc::unsupported, what, ""};
}

}  // namespace

Result<std::unique_ptr<TensorReader>> open_hdf5(const std::filesystem::path& path, const FileIdentity& identity,
                                                const ReadOptions& options) {
    const Hdf5Session session;
    GRADZ_TRY(auto mapped, map_file(path));
    if (mapped->bytes().empty()) return Error{Errc::truncated, "empty file", ""};
    std::vector<std::string> warnings;
    GRADZ_TRY(auto file, open_file(path, warnings));
    GRADZ_TRY(auto contents, visit_hdf5(file.get(), identity, options));
    contents.warnings.insert(contents.warnings.begin(), warnings.begin(), warnings.end());
    if (contents.tensors.empty()) return no_tensor(contents);
    GRADZ_TRY(Done{}, check_distinct(contents.tensors));
    GRADZ_TRY(Done{}, read_user_block(file.get(), *mapped, contents));
    return std::unique_ptr<TensorReader>(
        std::make_unique<Hdf5Reader>(std::move(file), std::move(mapped), std::move(contents), options.memory));
}

}  // namespace gradz::formats
