#include "core/grow.hpp"

#include <new>
#include <stdexcept>
#include <string>

namespace gradz {
namespace {

Error no_memory(std::size_t count) { return {Errc::io, "no memory for " + std::to_string(count) + " bytes", ""}; }

}  // namespace

Result<std::byte*> grow(std::vector<std::byte>& bytes, std::size_t count) {
    const std::size_t before = bytes.size();
    try {
        bytes.resize(before + count);
    } catch (const std::bad_alloc&) { return no_memory(count); } catch (const std::length_error&) {
        return no_memory(count);
    }
    return bytes.data() + before;
}

}  // namespace gradz
