#include "formats/hdf5_handle.hpp"

namespace gradz::formats {
namespace {

constexpr std::size_t kLongestMessage = 300;  // names from hostile files may be in it

extern "C" herr_t keep_innermost(unsigned, const H5E_error2_t* error, void* message) {
    if (error->desc && *error->desc) static_cast<std::string*>(message)->assign(error->desc, 0, kLongestMessage);
    return 1;  // the first one is enough
}

}  // namespace

std::recursive_mutex& Hdf5Session::mutex() {
    static auto* const one = new std::recursive_mutex;  // outlives every static that holds an id
    return *one;
}

Hdf5Session::Hdf5Session() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Session::~Hdf5Session() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }

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
    return {code, doing.empty() ? hdf5_message() : doing + ": " + hdf5_message(), std::move(where)};
}

Result<Hid> checked(hid_t id) {
    if (id < 0) return hdf5_error(Errc::io, "", "");
    return Hid(id);
}

}  // namespace gradz::formats
