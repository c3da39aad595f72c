// Tensors of an .npz archive: its .npy members.
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "formats/names.hpp"
#include "formats/npz_member.hpp"
#include "formats/readers.hpp"
#include "formats/zip_archive.hpp"

namespace gradz::formats {

namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::uint64_t kSuspiciousGain = 1000;

class NpzReader final : public TensorReader {
public:
    NpzReader(std::shared_ptr<MappedFile> file, std::uint64_t memory) : file_(std::move(file)), memory_(memory) {
        origin_.set("", "format", "npz");
    }

    const std::vector<TensorInfo>& tensors() const override { return tensors_; }
    const std::vector<Skipped>& skipped() const override { return skipped_; }
    const Origin& origin() const override { return origin_; }
    const std::vector<std::string>& warnings() const override { return warnings_; }
    bool rereadable() const override { return true; }

    Result<Done> load(const FileIdentity& identity, const ReadOptions& options);

    Result<std::unique_ptr<ChunkSource>> open(std::size_t index) override {
        opened_[index] = true;
        return open_npz_member(file_, *members_[index], memory_);
    }

    // Tensors of which only a part was read are checked here. Those never opened are not:
    // whoever leaves them out does not want to wait for them.
    Result<Done> finish() override {
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (!opened_[i]) continue;
            GRADZ_TRY([[maybe_unused]] const auto sound, verify_npz_member(*file_, *members_[i]));
        }
        return file_->unchanged();
    }

private:
    Result<Done> load_member(const ZipMember& zip, const FileIdentity& identity, const ReadOptions& options);
    void describe(const NpzMember& member, const std::string& name);

    std::shared_ptr<MappedFile> file_;
    std::uint64_t memory_;
    std::vector<TensorInfo> tensors_;
    std::vector<std::unique_ptr<NpzMember>> members_;  // of each tensor
    std::vector<bool> opened_;
    Origin origin_;
    std::vector<Skipped> skipped_;
    std::vector<std::string> warnings_;  // always empty: the origin keeps all that npz has
};

// Whether an array that parse_npy_header() calls unsupported has no numbers to compress:
// strings, dates and records. Objects are pickles, and those are refused wherever they are.
bool has_no_numbers(std::span<const std::byte> start) {
    const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
    auto type = text.substr(std::min(text.find("'descr':"), text.size()));
    type.remove_prefix(std::min<std::size_t>(8, type.size()));
    type.remove_prefix(std::min(type.find_first_not_of(" '<>|="), type.size()));
    if (type.starts_with("[")) return type.find("O'") == std::string_view::npos;
    return !type.empty() && std::string_view("SaUMm").find(type[0]) != std::string_view::npos;
}

// A few bytes may hold terabytes of zeros.
Result<Done> check_gain(const ZipMember& zip, const ReadOptions& options) {
    if (zip.size <= options.max_output || zip.size / kSuspiciousGain <= zip.stored) return Done{};
    return Error{Errc::unsupported,
                 "declares " + std::to_string(zip.size) + " bytes for " + std::to_string(zip.stored) +
                     " stored ones, more than --max-output " + std::to_string(options.max_output),
                 "member " + zip.name};
}

Result<Done> NpzReader::load_member(const ZipMember& zip, const FileIdentity& identity, const ReadOptions& options) {
    GRADZ_TRY([[maybe_unused]] const auto readable, check_readable(zip));
    GRADZ_TRY([[maybe_unused]] const auto gain, check_gain(zip, options));
    auto member = read_npz_member(*file_, zip);
    if (!member && member.error().code == Errc::unsupported) {
        GRADZ_TRY(const auto start, read_npy_start(*file_, zip));
        if (!has_no_numbers(start)) return member.error();
        skipped_.push_back({zip.name, member.error().what});
        return Done{};
    }
    if (!member) return member.error();
    TensorInfo info{zip.name.substr(0, zip.name.size() - kSuffix.size()), (*member)->header.shape,
                    (*member)->header.dtype};
    place_tensor(info, identity, options);
    describe(**member, info.name);
    tensors_.push_back(std::move(info));
    members_.push_back(std::move(*member));
    return Done{};
}

void NpzReader::describe(const NpzMember& member, const std::string& name) {
    const auto& header = member.header;
    if (header.big_endian) origin_.set(name, "byte_order", "big");
    if (header.fortran) origin_.set(name, "order", "fortran");
    if (header.major != 1) origin_.set(name, "npy.version", std::to_string(header.major));
    if (member.zip.method == kZipDeflated) origin_.set(name, "npz.method", "deflate");
}

Result<Done> NpzReader::load(const FileIdentity& identity, const ReadOptions& options) {
    GRADZ_TRY(const auto directory, read_zip_directory(file_->bytes()));
    for (const auto& zip : directory) {
        if (!zip.name.ends_with(kSuffix)) {
            skipped_.push_back({zip.name, "no .npy member"});
            continue;
        }
        GRADZ_TRY([[maybe_unused]] const auto loaded, load_member(zip, identity, options));
    }
    opened_.resize(tensors_.size());
    return check_distinct(tensors_);
}

}  // namespace

Result<std::unique_ptr<TensorReader>> open_npz(std::shared_ptr<MappedFile> file, const FileIdentity& identity,
                                               const ReadOptions& options) {
    auto reader = std::make_unique<NpzReader>(std::move(file), options.memory);
    GRADZ_TRY([[maybe_unused]] const auto loaded, reader->load(identity, options));
    return std::unique_ptr<TensorReader>(std::move(reader));
}

}  // namespace gradz::formats
