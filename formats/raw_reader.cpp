#include <cassert>

#include "formats/flat_reader.hpp"
#include "formats/readers.hpp"

namespace gradz::formats {
namespace {

// Raw values are npy data without the head: little-endian, in C order.
Result<NpyHeader> layout(const ReadOptions& options) {
    assert(options.raw);
    if (auto elements = TensorInfo{"data", options.raw->shape, options.raw->dtype}.numel(); !elements)
        return Error{Errc::invalid_argument, "--shape has more than 2^63 bytes", ""};
    NpyHeader header;
    header.dtype = options.raw->dtype;
    header.shape = options.raw->shape;
    return header;
}

}  // namespace

Result<std::unique_ptr<TensorReader>> open_raw(std::shared_ptr<MappedFile> file, const FileIdentity& identity,
                                               const ReadOptions& options) {
    GRADZ_TRY(auto header, layout(options));
    return open_flat(std::move(file), std::move(header), "raw", identity, options);
}

Result<std::unique_ptr<TensorReader>> open_raw_stream(std::unique_ptr<ByteSource> pipe, const FileIdentity& identity,
                                                      const ReadOptions& options) {
    GRADZ_TRY(auto header, layout(options));
    return open_flat_stream(std::move(pipe), std::move(header), "raw", identity, options);
}

}  // namespace gradz::formats
