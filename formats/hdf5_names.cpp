#include "formats/hdf5_names.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace gradz::formats {
namespace {

constexpr std::size_t kDeepest = 500;  // groups; readers recurse, ours refuses more than 1000

void encode(std::string& out, char c) {
    constexpr char kHex[] = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kHex[byte >> 4], kHex[byte & 15]};
}

std::string encode_all(std::string_view text, std::string_view only) {
    std::string out;
    for (const char c : text) {
        if (only.empty() || only.find(c) != only.npos) encode(out, c);
        else out += c;
    }
    return out;
}

std::string component_path(std::string_view part, bool plain_dots) {
    if (part == "." || (part == ".." && !plain_dots)) return encode_all(part, "");
    return encode_all(part, std::string_view("\0", 1));
}

// A slash stays if there is something on both sides of it.
std::string spell(std::string_view name, bool plain_dots) {
    std::string out;
    std::size_t depth = 0;
    for (std::size_t at = 0; at <= name.size();) {
        const auto end = std::min(name.find('/', at), name.size());
        out += component_path(name.substr(at, end - at), plain_dots);
        at = end + 1;
        if (end == name.size()) break;
        const bool splits = !out.empty() && out.back() != '/' && at < name.size() && depth < kDeepest;
        if (splits) out += '/', ++depth;
        else out += "%2F";
    }
    return out.empty() ? "%" : out;
}

}  // namespace

H5T_cset_t charset_of(std::string_view name) {
    return !is_ascii(name) && is_utf8(name) ? H5T_CSET_UTF8 : H5T_CSET_ASCII;
}

std::string attribute_name(std::string_view name) {
    return name.empty() ? "%" : encode_all(name, std::string_view("\0", 1));
}

Result<std::string> Hdf5Names::add_tensor(const std::string& name) {
    if (tensors_.contains(name))
        return Error{Errc::corrupt, "two tensors of this name cannot be in one HDF5 file", "tensor " + name};
    for (const auto& path :
         {spell(name, plain_dots_), spell(encode_all(name, "/"), plain_dots_), encode_all(name, "")}) {
        if (path.empty() || !is_free(path)) continue;
        if (const auto slash = path.rfind('/'); slash != path.npos) add_group(path.substr(0, slash));
        datasets_.insert(path);
        tensors_.emplace(name, path);
        return path;
    }
    return Error{Errc::unsupported, "no path in an HDF5 file is left for this name", "tensor " + name};
}

void Hdf5Names::add_group(const std::string& path) {
    for (auto end = path.size(); end != path.npos && end > 0; end = path.rfind('/', end - 1))
        if (!groups_.insert(path.substr(0, end)).second) return;  // so are those above it
}

const std::string* Hdf5Names::find(const std::string& object) const {
    if (const auto tensor = tensors_.find(object); tensor != tensors_.end()) return &tensor->second;
    const auto group = groups_.find(object);
    return group == groups_.end() ? nullptr : &*group;
}

bool Hdf5Names::is_free(const std::string& path) const {
    if (datasets_.contains(path) || groups_.contains(path)) return false;
    for (auto end = path.rfind('/'); end != path.npos && end > 0; end = path.rfind('/', end - 1))
        if (datasets_.contains(path.substr(0, end))) return false;
    return true;
}

}  // namespace gradz::formats
