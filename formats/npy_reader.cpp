#include <algorithm>

#include "formats/flat_reader.hpp"
#include "formats/readers.hpp"

namespace gradz::formats {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;

// Appends up to `size` bytes in all; fewer at the end of the input. Nothing is allocated for
// a length that only the header declares.
Result<Done> grow_to(std::uint64_t size, ByteSource& pipe, std::vector<std::byte>& bytes) {
    while (bytes.size() < size) {
        const std::size_t had = bytes.size(), want = std::min<std::uint64_t>(kPiece, size - had);
        bytes.resize(had + want);
        GRADZ_TRY(const std::size_t n, pipe.read(std::span(bytes).subspan(had)));
        bytes.resize(had + n);
        if (n < want) break;
    }
    return Done{};
}

}  // namespace

Result<std::unique_ptr<TensorReader>> open_npy(std::shared_ptr<MappedFile> file, const FileIdentity& identity,
                                               const ReadOptions& options) {
    GRADZ_TRY(auto header, parse_npy_header(file->bytes()));
    return open_flat(std::move(file), std::move(header), "npy", identity, options);
}

Result<std::unique_ptr<TensorReader>> open_npy_stream(std::unique_ptr<ByteSource> pipe, const FileIdentity& identity,
                                                      const ReadOptions& options) {
    std::vector<std::byte> bytes;
    GRADZ_TRY([[maybe_unused]] auto start, grow_to(12, *pipe, bytes));
    GRADZ_TRY(const auto size, npy_header_size(bytes));
    GRADZ_TRY([[maybe_unused]] auto rest, grow_to(size, *pipe, bytes));
    GRADZ_TRY(auto header, parse_npy_header(bytes));
    return open_flat_stream(std::move(pipe), std::move(header), "npy", identity, options);
}

}  // namespace gradz::formats
