// Errors are values: every fallible function returns Result<T>. Nothing throws
// across a module edge or out of an OpenMP region (that would call terminate).
// Broken preconditions are bugs, not errors: state them with assert().
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace gradz {

enum class Errc : std::uint8_t {
    invalid_argument,  // the caller asked for something that cannot be (bits = 0)
    unsupported,       // valid, but not built in or not implemented (complex128)
    truncated,         // the input ends before the structure it announces
    corrupt,           // the input contradicts itself (checksum, symbol range)
    incompatible,      // written by a newer format version than this reader
    nonfinite,         // NaN or Inf under the "error" policy
    exists,            // the output is there already and may not be replaced
    io,                // the operating system or HDF5 said no
};

struct Error {
    Errc code;
    std::string what;   // one sentence with the offending value: "bits = 9, want 2..8"
    std::string where;  // innermost first: "element 17 < tensor fc.weight < dump.h5"
};

inline Error invalid_argument(std::string what, std::string where = "") {
    return {Errc::invalid_argument, std::move(what), std::move(where)};
}

inline Error corrupt(std::string what, std::string where = "") {
    return {Errc::corrupt, std::move(what), std::move(where)};
}

template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return v_.index() == 0; }
    T& operator*() { return std::get<0>(v_); }
    const T& operator*() const { return std::get<0>(v_); }
    T* operator->() { return &std::get<0>(v_); }
    Error& error() { return std::get<1>(v_); }
    const Error& error() const { return std::get<1>(v_); }

private:
    std::variant<T, Error> v_;
};

struct Done {};  // Result<Done> for calls that only succeed or fail

#define GRADZ_CAT2(a, b) a##b
#define GRADZ_CAT(a, b) GRADZ_CAT2(a, b)
#define GRADZ_TRY_IMPL(tmp, lhs, expr)                       \
    auto tmp = (expr);                                       \
    if (!tmp) return ::gradz::Error(std::move(tmp.error())); \
    lhs = std::move(*tmp)
// GRADZ_TRY(auto header, read_header(src)); returns early with the error, if any.
#define GRADZ_TRY(lhs, expr) GRADZ_TRY_IMPL(GRADZ_CAT(gradz_try_, __LINE__), lhs, expr)

}  // namespace gradz
