#include "formats/hdf5_handle.hpp"

namespace gradz::formats {
namespace {

constexpr std::size_t kLongestMessage = 300;  // names from hostile files may be in it

extern "C" herr_t keep_innermost(unsigned, const H5E_error2_t* error, void* message) {
    if (error->desc && *error->desc) static_cast<std::string*>(message)->assign(error->desc, 0, kLongestMessage);
    return 1;  // the first one is enough
}

std::string library_version() {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

// What libhdf5 says of a failed write is a page of numbers; the system's own words stand inside.
std::string plain(const std::string& message) {
    constexpr std::string_view kWords = "error message = '";
    const auto begin = message.find(kWords);
    if (begin == message.npos) return message.substr(0, message.find(": time = "));
    const auto words = message.substr(begin + kWords.size());
    return words.substr(0, words.find('\''));
}

}  // namespace

std::recursive_mutex& Hdf5Session::mutex() {
    static auto* const one = new std::recursive_mutex;  // outlives every static that holds an id
    return *one;
}

Hdf5Session::Hdf5Session() : lock_(mutex()) {
    // After a failed flush (a full disk) or on a damaged file libhdf5 leaves objects half
    // closed, and crashes when it closes all at exit. We close what we open.
    [[maybe_unused]] static const auto once = H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hid::~Hid() {
    if (id_ < 0) return;
    const Hdf5Session session;
    H5Idec_ref(id_);
}

Result<Done> Hid::close() {
    const Hdf5Session session;
    if (H5Idec_ref(std::exchange(id_, H5I_INVALID_HID)) < 0) return hdf5_error(Errc::io, "", "");
    return Done{};
}

std::string hdf5_message() {
    std::string message;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, &keep_innermost, &message);
    return message.empty() ? "HDF5 failed without a message" : message;
}

Error hdf5_error(Errc code, const std::string& doing, std::string where) {
    auto message = plain(hdf5_message());
    if (message.starts_with("bad version number")) {
        code = Errc::incompatible;
        message += " (this is libhdf5 " + library_version() + ", the file may be of a later one)";
    }
    return {code, doing.empty() ? message : doing + ": " + message, std::move(where)};
}

Result<Hid> checked(hid_t id) {
    if (id < 0) return hdf5_error(Errc::io, "", "");
    return Hid(id);
}

}  // namespace gradz::formats
