#include "container/tensor_codec.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

namespace gradz {
namespace {

constexpr std::uint64_t kMaxRank = 255;

std::size_t shared_bytes(std::string_view a, std::string_view b) {
    std::size_t n = 0;
    while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
    return n;
}

Result<Done> write_header(const TensorHeader& header, std::string_view previous, std::vector<std::byte>& body) {
    const TensorInfo& info = header.info;
    if (info.name.size() > kMaxNameBytes)
        return Error{Errc::unsupported,
                     "a name of " + std::to_string(info.name.size()) + " bytes, at most " +
                         std::to_string(kMaxNameBytes) + " fit",
                     "tensor " + info.name};
    if (info.shape.size() > kMaxRank)
        return Error{Errc::unsupported, "rank " + std::to_string(info.shape.size()) + ", want 0..255",
                     "tensor " + info.name};
    ByteWriter writer(body);
    const std::size_t shared = shared_bytes(previous, info.name);
    writer.varint(shared);
    writer.varint(info.name.size() - shared);
    writer.text(std::string_view(info.name).substr(shared));
    writer.little(info.dtype);
    writer.varint(info.shape.size());
    for (const auto d : info.shape) writer.varint(d);
    writer.varint(info.step);
    writer.varint(info.worker);
    writer.little(header.key);
    writer.varint(header.spec);
    writer.varint(header.rule);
    return Done{};
}

Result<std::string> read_name(ByteReader& in, std::string_view previous) {
    GRADZ_TRY(const auto shared, in.varint());
    if (shared > previous.size())
        return corrupt(std::to_string(shared) + " bytes shared with a name of " + std::to_string(previous.size()));
    GRADZ_TRY(const auto rest, in.varint());
    if (rest > kMaxNameBytes - shared)
        return corrupt("a name of more than " + std::to_string(kMaxNameBytes) + " bytes");
    GRADZ_TRY(const auto text, in.text(rest));
    std::string name(previous.substr(0, shared));
    return name += text;
}

Result<std::vector<std::uint64_t>> read_shape(ByteReader& in) {
    GRADZ_TRY(const auto rank, in.varint());
    if (rank > kMaxRank) return corrupt("rank " + std::to_string(rank) + ", want 0..255");
    std::vector<std::uint64_t> shape;
    for (std::uint64_t i = 0; i < rank; ++i) {
        GRADZ_TRY(const auto d, in.varint());
        shape.push_back(d);
    }
    return shape;
}

Result<TensorHeader> read_header(ByteReader& in, std::string_view previous) {
    TensorHeader header;
    GRADZ_TRY(header.info.name, read_name(in, previous));
    GRADZ_TRY(const auto dtype, in.little<std::uint8_t>());
    if (!is_dtype(dtype))
        return Error{Errc::corrupt, "dtype " + std::to_string(dtype) + " does not exist", "tensor " + header.info.name};
    header.info.dtype = static_cast<DType>(dtype);
    GRADZ_TRY(header.info.shape, read_shape(in));
    GRADZ_TRY(header.info.step, in.varint());
    GRADZ_TRY(header.info.worker, in.varint());
    GRADZ_TRY(header.key, in.little<std::uint64_t>());
    GRADZ_TRY(const auto spec, in.varint());
    if (spec > std::numeric_limits<std::uint32_t>::max())
        return corrupt("spec " + std::to_string(spec) + " is unknown");
    header.spec = static_cast<std::uint32_t>(spec);
    GRADZ_TRY(header.rule, in.varint());
    return header;
}

}  // namespace

Result<Done> write_tensor_headers(std::span<const TensorHeader> headers, std::vector<std::byte>& body,
                                  std::vector<std::uint64_t>& sizes) {
    ByteWriter(body).varint(headers.size());
    std::string_view previous;
    for (const auto& header : headers) {
        const std::size_t before = body.size();
        GRADZ_TRY([[maybe_unused]] const auto done, write_header(header, previous, body));
        sizes.push_back(body.size() - before);
        previous = header.info.name;
    }
    return Done{};
}

Result<Done> read_tensor_headers(std::span<const std::byte> body, StateBudget& budget,
                                 std::vector<TensorHeader>& headers, std::vector<std::uint64_t>& sizes) {
    ByteReader in(body);
    GRADZ_TRY(const auto count, in.varint());
    if (count == 0 || count > kBatchTensors)
        return corrupt(std::to_string(count) + " tensors in a record, want 1.." + std::to_string(kBatchTensors));
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t before = in.at();
        const std::string_view previous = i == 0 ? std::string_view() : headers.back().info.name;
        GRADZ_TRY(auto header, read_header(in, previous));
        GRADZ_TRY([[maybe_unused]] const auto fits,
                  budget.spend(cost_of(header.info.name.size(), header.info.shape.size())));
        headers.push_back(std::move(header));
        sizes.push_back(in.at() - before);
    }
    if (in.left() > 0) return corrupt(std::to_string(in.left()) + " bytes after the last tensor");
    return Done{};
}

}  // namespace gradz
