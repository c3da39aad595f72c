// HDF5 files from tensors and what Origin tells of the file they came from. The same calls
// give the same bytes: no times are stored, and objects are made in a fixed order.
#include <algorithm>
#include <deque>
#include <fstream>
#include <unordered_map>

#include "formats/hdf5_layout.hpp"
#include "formats/hdf5_names.hpp"
#include "formats/hdf5_origin.hpp"
#include "formats/hdf5_scratch.hpp"
#include "formats/hdf5_target.hpp"
#include "formats/readers.hpp"

namespace gradz::formats {
namespace {

constexpr std::uint64_t kLargestUserBlock = std::uint64_t{64} << 20;

constexpr std::string_view kAttribute = "attribute:", kMetadata = "metadata:";

// Attributes of 64 KiB and more need object headers that libhdf5 1.8 brought.
bool is_large(const OriginEntry& entry) {
    if (!entry.key.starts_with(kAttribute) && !entry.key.starts_with(kMetadata)) return false;
    // Of variable-length strings the header holds 16 bytes each, whatever their length.
    return entry.value.size() > (entry.value.starts_with("string:variable") ? 3900 : 60000);
}

Result<Hid> create_file(const std::filesystem::path& path, std::uint64_t user_block, bool large_attributes) {
    GRADZ_TRY(const auto creation, checked(H5Pcreate(H5P_FILE_CREATE)));
    GRADZ_TRY(const auto access, checked(H5Pcreate(H5P_FILE_ACCESS)));
    H5Pset_obj_track_times(creation.get(), false);
    if (H5Pset_userblock(creation.get(), user_block) < 0) return hdf5_error(Errc::corrupt, "hdf5.userblock", "");
    H5Pset_libver_bounds(access.get(), large_attributes ? H5F_LIBVER_V18 : H5F_LIBVER_EARLIEST, H5F_LIBVER_V110);
    H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
    H5Pset_file_locking(access.get(), false, true);  // nobody else knows the temporary file
    return checked(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
}

Result<Hid> link_properties(const std::string& path) {
    GRADZ_TRY(auto properties, checked(H5Pcreate(H5P_LINK_CREATE)));
    H5Pset_char_encoding(properties.get(), charset_of(std::string_view(path).substr(path.rfind('/') + 1)));
    return properties;
}

class Hdf5Writer final : public TensorWriter {
public:
    Hdf5Writer(std::unique_ptr<Output> output, Origin origin, std::uint64_t memory)
        : output_(std::move(output)), origin_(std::move(origin)), memory_(memory), names_(from_hdf5()) {}

    // After a failure libhdf5 may keep the file open: what it holds is given back at least.
    ~Hdf5Writer() override {
        if (committed_) return;
        target_.reset();
        file_ = Hid();
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::resize_file(path_, 0, ignored);
    }

    Result<Done> start() {
        path_ = output_->staging();
        auto name = path_;
        if (path_.empty()) {
            GRADZ_TRY(auto scratch, Hdf5Scratch::create());
            scratch_ = std::make_unique<Hdf5Scratch>(std::move(scratch));
            name = scratch_->name(), path_ = scratch_->path();
        }
        const auto& entries = origin_.entries;
        GRADZ_TRY(file_, create_file(name, user_block(), std::any_of(entries.begin(), entries.end(), is_large)));
        if (scratch_) scratch_->unlink();
        if (!from_hdf5()) return Done{};
        for (const auto& entry : entries) {
            if (!entry.key.starts_with(kAttribute)) facts_[entry.object].push_back(&entry);
            if (entry.key != "hdf5.group" || entry.object.empty()) continue;
            names_.add_group(entry.object);
            GRADZ_TRY(Done{}, make_groups(entry.object));
        }
        return Done{};
    }

    Result<Done> add(std::span<const TensorInfo> more) override {
        const Hdf5Session session;
        for (const auto& info : more) {
            auto done = add_dataset(info);
            if (!done) return placed(std::move(done.error()), info.name);
        }
        return Done{};
    }

    Result<Done> write(std::size_t index, std::uint64_t first, std::span<const std::byte> bytes) override {
        const Hdf5Session session;
        auto done = write_elements(index, first, bytes);
        if (!done) return placed(std::move(done.error()), datasets_[index].info.name);
        return done;
    }

    Result<Done> commit() override {
        const Hdf5Session session;
        GRADZ_TRY(Done{}, finish_until(datasets_.size()));
        GRADZ_TRY(Done{}, restore_links());
        GRADZ_TRY(Done{}, restore_attributes());
        if (H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) < 0) return hdf5_error(Errc::io, "", "");
        GRADZ_TRY(Done{}, file_.close());
        GRADZ_TRY(Done{}, write_user_block());
        if (scratch_) { GRADZ_TRY(Done{}, scratch_->copy_to(*output_)); }
        committed_ = true;
        return output_->commit();
    }

private:
    bool from_hdf5() const {
        const auto* const format = origin_.find("", "format");
        return format && *format == "hdf5";
    }

    static Error placed(Error error, const std::string& name) {
        if (error.where.empty()) error.where = "tensor " + name;
        return error;
    }

    // 0 where there is none, or one that is larger than any header of another format.
    std::uint64_t user_block() const {
        const auto* const text = from_hdf5() ? origin_.find("", "hdf5.userblock") : nullptr;
        const std::uint64_t size = text ? std::strtoull(text->c_str(), nullptr, 10) : 0;
        return size <= kLargestUserBlock ? size : 0;
    }

    // Every group of the path that is not there yet, outermost first.
    Result<Done> make_groups(const std::string& path) {
        for (std::size_t end = 0; end != path.npos;) {
            end = path.find('/', end + 1);
            const auto group = path.substr(0, end);
            if (!made_.insert(group).second) continue;
            GRADZ_TRY(const auto creation, checked(H5Pcreate(H5P_GROUP_CREATE)));
            GRADZ_TRY(const auto link, link_properties(group));
            H5Pset_obj_track_times(creation.get(), false);
            const Hid made(H5Gcreate2(file_.get(), ("/" + group).c_str(), link.get(), creation.get(), H5P_DEFAULT));
            if (!made) return hdf5_error(Errc::io, "", "group /" + group);
        }
        return Done{};
    }

    Result<Done> add_dataset(const TensorInfo& info) {
        Hdf5Dataset dataset{info, "", {}, 0, false};
        GRADZ_TRY(dataset.elements, info.numel());
        GRADZ_TRY(const auto path, names_.add_tensor(info.name));
        if (const auto slash = path.rfind('/'); slash != path.npos) {
            GRADZ_TRY(Done{}, make_groups(path.substr(0, slash)));
        }
        dataset.path = "/" + path;
        const auto facts = facts_.find(info.name);
        const Hdf5Facts none;
        GRADZ_TRY(auto layout, make_layout(info, facts == facts_.end() ? none : facts->second, true));
        auto made = create(dataset, layout);
        if (!made && layout.filtered) {  // too small for szip after a slice, or no encoder here
            GRADZ_TRY(layout, make_layout(info, facts->second, false));
            made = create(dataset, layout);
        }
        if (!made) return made;
        dataset.chunk = layout.chunk, dataset.big_endian = layout.big_endian;
        datasets_.push_back(std::move(dataset));
        return Done{};
    }

    Result<Done> create(const Hdf5Dataset& dataset, const Hdf5Layout& layout) {
        GRADZ_TRY(const auto type, make_hdf5_type(dataset.info.dtype, layout.big_endian));
        GRADZ_TRY(const auto link, link_properties(dataset.path));
        const Hid made(H5Dcreate2(file_.get(), dataset.path.c_str(), type.get(), layout.space.get(), link.get(),
                                  layout.properties.get(), H5P_DEFAULT));
        if (!made) return hdf5_error(Errc::io, "", "");
        return Done{};
    }

    Result<Done> write_elements(std::size_t index, std::uint64_t first, std::span<const std::byte> bytes) {
        if (index >= next_ || !target_) {
            GRADZ_TRY(Done{}, finish_until(index));
            if (bytes.empty()) return Done{};
            GRADZ_TRY(auto target, Hdf5Target::open(file_.get(), datasets_[index], memory_));
            target_ = std::make_unique<Hdf5Target>(std::move(target));
            next_ = index + 1;
        }
        if (index + 1 != next_ || first != target_->written() ||
            bytes.size() / size_of(datasets_[index].info.dtype) > datasets_[index].elements - first)
            return Error{Errc::invalid_argument, "elements out of order, from " + std::to_string(first) + " on", ""};
        return target_->write(bytes);
    }

    // Closes the tensor in work, and makes sure that those before `index` are complete.
    Result<Done> finish_until(std::size_t index) {
        if (target_) {
            const auto& dataset = target_->dataset();
            if (target_->written() < dataset.elements) return missing(dataset, target_->written());
            GRADZ_TRY(Done{}, target_->close());
            target_.reset();
        }
        for (; next_ < index; ++next_)
            if (datasets_[next_].elements > 0) return missing(datasets_[next_], 0);
        return Done{};
    }

    static Error missing(const Hdf5Dataset& dataset, std::uint64_t have) {
        return {Errc::truncated, std::to_string(have) + " elements, want " + std::to_string(dataset.elements),
                "tensor " + dataset.info.name};
    }

    // Links of what is not in this file (a tensor that was left out) go with it.
    Result<Done> restore_links() {
        if (!from_hdf5()) return Done{};
        for (const auto& entry : origin_.entries) {
            const bool alias = entry.key == "hdf5.alias", soft = entry.key == "hdf5.soft_link";
            const auto* const target = entry.value.empty() ? &entry.value : names_.find(entry.value);
            if (!soft && !(alias && target)) continue;
            if (const auto slash = entry.object.rfind('/'); slash != entry.object.npos) {
                GRADZ_TRY(Done{}, make_groups(entry.object.substr(0, slash)));
            }
            GRADZ_TRY(const auto link, link_properties(entry.object));
            const auto path = "/" + entry.object;
            const auto status =
                soft ? H5Lcreate_soft(entry.value.c_str(), file_.get(), path.c_str(), link.get(), H5P_DEFAULT)
                     : H5Lcreate_hard(file_.get(), ("/" + *target).c_str(), file_.get(), path.c_str(), link.get(),
                                      H5P_DEFAULT);
            if (status < 0) return hdf5_error(Errc::io, "", "link " + path);
        }
        return Done{};
    }

    Result<Done> restore_attributes() {
        for (const auto& entry : origin_.entries) {
            Result<Done> done = Done{};
            if (entry.key.starts_with(kMetadata) && entry.object.empty())
                done =
                    write_text_attribute(file_.get(), attribute_name(entry.key.substr(kMetadata.size())), entry.value);
            if (entry.key.starts_with(kAttribute) && from_hdf5()) {
                const auto* const path = entry.object.empty() ? &entry.object : names_.find(entry.object);
                if (path)
                    done = write_attribute(file_.get(), "/" + *path, entry.key.substr(kAttribute.size()), entry.value);
            }
            if (done) continue;
            if (done.error().where.empty()) done.error().where = entry.key + " of /" + entry.object;
            return done;
        }
        return Done{};
    }

    Result<Done> write_user_block() {
        const auto* const bytes = user_block() > 0 ? origin_.find("", "hdf5.userblock_data") : nullptr;
        if (!bytes || bytes->size() > user_block()) return Done{};
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
        file.close();
        if (!file) return Error{Errc::io, "the user block cannot be written", ""};
        return Done{};
    }

    std::unique_ptr<Output> output_;
    std::unique_ptr<Hdf5Scratch> scratch_;  // where the output cannot seek
    std::filesystem::path path_;            // of what libhdf5 writes to
    Origin origin_;
    std::uint64_t memory_;
    Hdf5Names names_;
    Hid file_;
    std::unordered_map<std::string_view, Hdf5Facts> facts_;
    std::unordered_set<std::string> made_;  // groups
    std::deque<Hdf5Dataset> datasets_;      // add() leaves those in work where they are
    std::unique_ptr<Hdf5Target> target_;    // the tensor in work: datasets_[next_ - 1]
    std::size_t next_ = 0;
    bool committed_ = false;
};

}  // namespace

Result<std::unique_ptr<TensorWriter>> create_hdf5(std::unique_ptr<Output> output, const Origin& origin,
                                                  const WriteOptions& options) {
    const Hdf5Session session;
    auto writer = std::make_unique<Hdf5Writer>(std::move(output), origin, options.memory / 4);
    GRADZ_TRY(Done{}, writer->start());
    return std::unique_ptr<TensorWriter>(std::move(writer));
}

}  // namespace gradz::formats
