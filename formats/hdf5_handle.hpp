// libhdf5's C interface made safe: ids that close themselves, one lock, errors as values.
// Only formats/hdf5_* include this, and nothing else includes hdf5.h.
#pragma once

#define H5_USE_110_API  // links are told apart by address, not by the tokens of 1.12
#include <hdf5.h>

#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace gradz::formats {

// Held by every public call of a reader, source or writer. libhdf5 serializes its callers
// where it was built thread-safe and breaks where it was not; this makes no difference of
// them. Also keeps libhdf5 from printing its error stack. May be nested.
class Hdf5Session {
public:
    Hdf5Session();
    Hdf5Session(const Hdf5Session&) = delete;
    Hdf5Session& operator=(const Hdf5Session&) = delete;

private:
    static std::recursive_mutex& mutex();

    std::lock_guard<std::recursive_mutex> lock_;
};

// Owns one id of any kind, or none.
class Hid {
public:
    Hid() = default;
    explicit Hid(hid_t id) : id_(id) {}
    Hid(Hid&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
    Hid& operator=(Hid&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    ~Hid();

    explicit operator bool() const { return id_ >= 0; }
    hid_t get() const { return id_; }

    // Errc::io if what was cached could not be written. Owns nothing afterwards.
    Result<Done> close();

private:
    hid_t id_ = H5I_INVALID_HID;
};

// The innermost message of libhdf5's error stack: what failed, without the layers above it.
std::string hdf5_message();

// "DOING: innermost message". `doing` may be empty. Errc::incompatible instead of `code`
// where the file has a structure that this libhdf5 does not know.
Error hdf5_error(Errc code, const std::string& doing, std::string where);

// The body of a callback from libhdf5: neither errors nor exceptions may cross its C code, so
// they are kept in `failure`, and the iteration ends.
template <class Body>
herr_t guarded(std::optional<Error>& failure, Body&& body) {
    try {
        auto done = body();
        if (done) return 0;
        failure = std::move(done.error());
    } catch (const std::bad_alloc&) { failure = Error{Errc::io, "out of memory", ""}; }
    return -1;
}

// What can only fail for want of memory: property lists, copies of types, dataspaces.
Result<Hid> checked(hid_t id);

}  // namespace gradz::formats
