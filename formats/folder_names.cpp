#include "formats/folder_names.hpp"

#include "formats/names.hpp"

namespace gradz::formats {
namespace {

std::vector<std::string> split(std::string_view path) {
    std::vector<std::string> out;
    for (std::size_t begin = 0;;) {
        const std::size_t end = path.find('/', begin);
        out.emplace_back(path.substr(begin, end - begin));
        if (end == path.npos) return out;
        begin = end + 1;
    }
}

}  // namespace

FolderPlace place_of(std::string_view relative) {
    FolderPlace place;
    auto components = split(relative);
    const auto file = identify(components.back(), {});
    components.pop_back();
    const auto join = [&](const std::string& rest) {
        if (!rest.empty()) place.prefix += (place.prefix.empty() ? "" : "/") + rest;
    };
    for (const auto& component : components) {
        const auto parts = split_name(component);
        if (parts.step) place.step = parts.step;
        if (parts.worker) place.worker = parts.worker;
        join(parts.rest);
    }
    join(file.stem);
    if (file.step) place.step = file.step;
    if (file.worker) place.worker = file.worker;
    return place;
}

std::string name_in_folder(std::string_view prefix, std::string_view inner, bool npy) {
    if (npy) return prefix.empty() ? "data" : std::string(prefix);
    return prefix.empty() ? std::string(inner) : std::string(prefix) + "/" + std::string(inner);
}

std::optional<std::string> name_in_file(std::string_view prefix, std::string_view name, bool npy) {
    if (npy) return name == name_in_folder(prefix, "", true) ? std::optional<std::string>(name) : std::nullopt;
    if (prefix.empty()) return std::string(name);
    if (!name.starts_with(prefix) || name.substr(prefix.size(), 1) != "/") return std::nullopt;
    return std::string(name.substr(prefix.size() + 1));
}

Result<std::vector<std::string>> safe_components(std::string_view relative) {
    auto components = split(relative);
    for (const auto& component : components)
        if (component.empty() || component[0] == '.' || component.find('\0') != std::string::npos)
            return Error{Errc::corrupt, "'" + std::string(relative) + "' is no name of a file inside a folder",
                         "origin"};
    return components;
}

}  // namespace gradz::formats
