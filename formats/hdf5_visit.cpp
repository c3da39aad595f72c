#include "formats/hdf5_visit.hpp"

#include <algorithm>
#include <map>

#include "formats/hdf5_layout.hpp"
#include "formats/hdf5_origin.hpp"
#include "formats/names.hpp"

namespace gradz::formats {
namespace {

constexpr auto kDeepest = 1000;    // groups: libhdf5 recurses
constexpr int kMostExternal = 16;  // files inside files

extern "C" herr_t refuse_external(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) {
    return -1;
}

// For every path that is followed: external files are opened only if the options say so.
Result<Hid> link_access(bool follow_external) {
    GRADZ_TRY(auto properties, checked(H5Pcreate(H5P_LINK_ACCESS)));
    if (!follow_external) H5Pset_elink_cb(properties.get(), &refuse_external, nullptr);
    return properties;
}

class Visitor {
public:
    Visitor(const FileIdentity& identity, const ReadOptions& options) : identity_(identity), options_(options) {}

    Result<Hdf5Contents> run(hid_t file) {
        GRADZ_TRY(access_, link_access(options_.follow_external));
        H5O_info_t root{};
        if (H5Oget_info2(file, &root, H5O_INFO_BASIC) < 0) return hdf5_error(Errc::corrupt, "", "/");
        found_.origin.set("", "format", "hdf5");
        GRADZ_TRY(Done{}, read_attributes(file, "", found_.origin, found_.warnings));
        GRADZ_TRY(Done{}, visit_group(file, root, ""));
        return std::move(found_);
    }

private:
    // path: "" or ends with a slash. What is open is visited down to its last object.
    Result<Done> visit_group(hid_t group, const H5O_info_t& info, const std::string& path) {
        seen_.emplace(std::pair(info.fileno, info.addr), path.substr(0, path.size() - !path.empty()));
        const auto outer_file = std::exchange(file_number_, info.fileno);
        const auto outer_path = std::exchange(prefix_, path);
        const auto status = H5Lvisit(group, H5_INDEX_NAME, H5_ITER_INC, &Visitor::visit, this);
        file_number_ = outer_file, prefix_ = outer_path;
        if (failure_) return std::move(*failure_);
        if (status < 0) return hdf5_error(Errc::corrupt, "links cannot be read", "/" + path);
        return Done{};
    }

    static herr_t visit(hid_t group, const char* name, const H5L_info_t* info, void* self) {
        auto& visitor = *static_cast<Visitor*>(self);
        return guarded(visitor.failure_, [&] { return visitor.visit_link(group, name, *info); });
    }

    Result<Done> visit_link(hid_t group, const char* name, const H5L_info_t& info) {
        const std::string path = prefix_ + name;
        if (std::count(path.begin(), path.end(), '/') > kDeepest)
            return Error{Errc::corrupt, "groups are nested more than " + std::to_string(kDeepest) + " deep", ""};
        switch (info.type) {
            case H5L_TYPE_HARD: return visit_hard(group, path, info.u.address);
            case H5L_TYPE_SOFT: return visit_soft(group, name, path, info.u.val_size);
            case H5L_TYPE_EXTERNAL: return visit_external(group, name, path, info.u.val_size);
            default: return skip(path, "user-defined link");
        }
    }

    Result<Done> visit_hard(hid_t group, const std::string& path, haddr_t address) {
        if (const auto first = seen_.find({file_number_, address}); first != seen_.end()) {
            found_.origin.set(path, "hdf5.alias", first->second);
            return Done{};
        }
        const Hid object(H5Oopen_by_addr(group, address));
        H5O_info_t info{};
        if (!object || H5Oget_info2(object.get(), &info, H5O_INFO_BASIC) < 0)
            return hdf5_error(Errc::corrupt, "", "/" + path);
        return visit_object(object.get(), info, path, false);
    }

    Result<Done> visit_object(hid_t object, const H5O_info_t& info, const std::string& path, bool external) {
        seen_.emplace(std::pair(info.fileno, info.addr), path);
        switch (info.type) {
            case H5O_TYPE_GROUP:
                found_.origin.set(path, "hdf5.group", "");
                return read_attributes(object, path, found_.origin, found_.warnings);
            case H5O_TYPE_DATASET: return visit_dataset(object, info, path, external);
            case H5O_TYPE_NAMED_DATATYPE: return skip(path, "a datatype, no values");
            default: return skip(path, "unknown kind of object");
        }
    }

    Result<std::string> link_value(hid_t group, const char* name, std::size_t size) {
        std::string value(size, '\0');
        if (H5Lget_val(group, name, value.data(), size, access_.get()) < 0) return hdf5_error(Errc::corrupt, "", "");
        return value;
    }

    Result<Done> visit_soft(hid_t group, const char* name, const std::string& path, std::size_t size) {
        GRADZ_TRY(auto target, link_value(group, name, size));
        target.resize(std::min(target.find('\0'), target.size()));
        const bool leads_somewhere = H5Oexists_by_name(group, name, access_.get()) > 0;
        if (!leads_somewhere) { GRADZ_TRY(Done{}, skip(path, "soft link to " + target + ", which leads nowhere")); }
        found_.origin.set(path, "hdf5.soft_link", std::move(target));
        return Done{};
    }

    Result<Done> visit_external(hid_t group, const char* name, const std::string& path, std::size_t size) {
        GRADZ_TRY(const auto value, link_value(group, name, size));
        unsigned flags = 0;
        const char *file = "", *target = "";
        if (H5Lunpack_elink_val(value.data(), value.size(), &flags, &file, &target) < 0)
            return hdf5_error(Errc::corrupt, "", "/" + path);
        const std::string words = "external link to " + std::string(target) + " of " + file;
        if (!options_.follow_external) return skip(path, words);
        const Hid object(H5Oopen(group, name, access_.get()));
        if (!object) return skip(path, words + ": " + hdf5_message());
        H5O_info_t info{};
        if (H5Oget_info2(object.get(), &info, H5O_INFO_BASIC) < 0) return hdf5_error(Errc::corrupt, "", "/" + path);
        if (seen_.contains({info.fileno, info.addr})) return skip(path, words + ", which was read already");
        GRADZ_TRY(Done{}, visit_object(object.get(), info, path, true));
        if (info.type != H5O_TYPE_GROUP) return Done{};
        if (external_depth_ == kMostExternal) return skip(path, words + ": too many files inside files");
        ++external_depth_;
        auto done = visit_group(object.get(), info, path + "/");
        --external_depth_;
        return done;
    }

    Result<Done> skip(const std::string& path, std::string reason) {
        found_.skipped.push_back({path, std::move(reason)});
        return Done{};
    }

    Result<Done> visit_dataset(hid_t dataset, const H5O_info_t& info, const std::string& path, bool external) {
        auto done = read_dataset(dataset, path, {info.addr, external || external_depth_ > 0, false, {}});
        if (!done && done.error().where.empty()) done.error().where = "tensor " + path;
        return done;
    }

    Result<Done> read_dataset(hid_t dataset, const std::string& path, Hdf5Place place) {
        const Hid type_id(H5Dget_type(dataset)), space(H5Dget_space(dataset)), properties(H5Dget_create_plist(dataset));
        if (!type_id || !space || !properties) return hdf5_error(Errc::corrupt, "", "");
        GRADZ_TRY(const auto type, read_hdf5_type(type_id.get()));
        if (!type.dtype) return skip(path, type.skipped);
        if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) return skip(path, "no value (null dataspace)");
        const auto elsewhere = outside_storage(properties.get());
        if (!elsewhere.empty() && !options_.follow_external) return skip(path, elsewhere);
        if (!elsewhere.empty()) {
            place.by_path = true;
            found_.warnings.push_back("/" + path + ": " + elsewhere +
                                      "; what is missing there reads as the fill value");
        }
        TensorInfo info{path, {}, *type.dtype};
        GRADZ_TRY(info.shape, shape_of(space.get()));
        GRADZ_TRY(const auto elements, info.numel());
        const auto bytes = elements * size_of(info.dtype);
        GRADZ_TRY(Done{}, check_size(dataset, bytes));
        if (bytes > 0) { GRADZ_TRY(Done{}, check_filters(properties.get())); }
        place.big_endian = type.big_endian;
        if (!place.by_path && type.remark.empty()) place.offset = flat_offset(dataset, properties.get(), bytes);
        if (!type.remark.empty()) found_.warnings.push_back("/" + path + ": " + type.remark);
        GRADZ_TRY(Done{}, read_layout(dataset, info, type, found_.origin, found_.warnings));
        GRADZ_TRY(Done{}, read_attributes(dataset, path, found_.origin, found_.warnings));
        place_tensor(info, identity_, options_);
        found_.tensors.push_back(std::move(info));
        found_.places.push_back(place);
        return Done{};
    }

    static Result<std::vector<std::uint64_t>> shape_of(hid_t space) {
        const int rank = H5Sget_simple_extent_ndims(space);
        std::vector<hsize_t> dims(rank < 0 ? 0 : static_cast<std::size_t>(rank));
        if (rank < 0 || H5Sget_simple_extent_dims(space, dims.data(), nullptr) < 0)
            return hdf5_error(Errc::corrupt, "", "");
        return std::vector<std::uint64_t>(dims.begin(), dims.end());
    }

    // What libhdf5 would open besides the file; "" if nothing.
    static std::string outside_storage(hid_t properties) {
        char file[256] = "";
        if (H5Pget_layout(properties) == H5D_VIRTUAL) {
            std::size_t sources = 0;
            H5Pget_virtual_count(properties, &sources);
            if (sources > 0) H5Pget_virtual_filename(properties, 0, file, sizeof file);
            return "virtual dataset, its values lie in " + std::string(file) + (sources > 1 ? " and others" : "");
        }
        const int files = H5Pget_external_count(properties);
        if (files <= 0) return "";
        off_t offset = 0;
        hsize_t size = 0;
        H5Pget_external(properties, 0, sizeof file - 1, file, &offset, &size);
        return "external storage, its values lie in " + std::string(file) + (files > 1 ? " and others" : "");
    }

    Result<Done> check_size(hid_t dataset, std::uint64_t bytes) const {
        if (bytes <= options_.max_output) return Done{};
        const std::uint64_t stored = H5Dget_storage_size(dataset);
        if (bytes / 1000 <= stored) return Done{};
        return Error{Errc::unsupported,
                     "declares " + std::to_string(bytes) + " bytes and stores " + std::to_string(stored) +
                         ": refused unless --max-output allows it",
                     ""};
    }

    static Result<Done> check_filters(hid_t properties) {
        const int count = H5Pget_layout(properties) == H5D_CHUNKED ? H5Pget_nfilters(properties) : 0;
        for (int i = 0; i < count; ++i) {
            unsigned flags = 0, config = 0;
            std::size_t values = 0;
            char name[64] = "";
            const auto id = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values, nullptr,
                                           sizeof name - 1, name, &config);
            if (id < 0) return hdf5_error(Errc::corrupt, "bad filter", "");
            if (H5Zfilter_avail(id) > 0) continue;
            const std::string package(filter_package(id));
            return Error{Errc::unsupported,
                         "filter " + std::to_string(id) + " (" + (package.empty() ? std::string(name) : package) +
                             ") is not available; HDF5_PLUGIN_PATH names the folder of plugins",
                         ""};
        }
        return Done{};
    }

    // Allocated, contiguous and without filters: bytes that can be mapped.
    static std::optional<std::uint64_t> flat_offset(hid_t dataset, hid_t properties, std::uint64_t bytes) {
        if (bytes == 0 || H5Pget_layout(properties) != H5D_CONTIGUOUS || H5Pget_nfilters(properties) != 0)
            return std::nullopt;
        H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
        if (H5Dget_space_status(dataset, &status) < 0 || status != H5D_SPACE_STATUS_ALLOCATED) return std::nullopt;
        const auto offset = H5Dget_offset(dataset);  // from the file's start: a user block is counted
        if (offset == HADDR_UNDEF || H5Dget_storage_size(dataset) != bytes) return std::nullopt;
        return offset;
    }

    const FileIdentity& identity_;
    const ReadOptions& options_;
    Hid access_;
    Hdf5Contents found_;
    std::map<std::pair<unsigned long, haddr_t>, std::string> seen_;  // object to the path it was first met by
    std::optional<Error> failure_;
    unsigned long file_number_ = 0;
    std::string prefix_;
    int external_depth_ = 0;
};

}  // namespace

Result<Hdf5Contents> visit_hdf5(hid_t file, const FileIdentity& identity, const ReadOptions& options) {
    return Visitor(identity, options).run(file);
}

}  // namespace gradz::formats
