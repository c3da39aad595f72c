#include "container/record.hpp"

#include "core/hash.hpp"

namespace gradz {

void RecordBuilder::start(RecordType type) {
    type_ = type;
    bytes_.resize(kRoom);
}

Result<std::span<const std::byte>> RecordBuilder::finish() {
    if (body_size() > kMaxBody)
        return Error{
            Errc::unsupported,
            "a record of " + std::to_string(body_size()) + " bytes, at most " + std::to_string(kMaxBody) + " fit", ""};
    // Type and length end where the body begins: the body never moves.
    std::vector<std::byte> start;
    ByteWriter writer(start);
    writer.little(static_cast<std::uint8_t>(type_));
    writer.varint(body_size());
    const std::size_t at = kRoom - start.size();
    std::copy(start.begin(), start.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
    ByteWriter(bytes_).little(xxh3_64(std::span(bytes_).subspan(at)));
    return std::span<const std::byte>(bytes_).subspan(at);
}

void write_block_head(const BlockHead& head, std::vector<std::byte>& body) {
    ByteWriter writer(body);
    writer.little(head.coding);
    for (const std::uint64_t v : {head.tensor, head.tensors, head.chunk}) writer.varint(v);
    writer.little(head.content);
}

Result<BlockHead> read_block_head(ByteReader& body) {
    BlockHead head;
    GRADZ_TRY(head.coding, body.little<std::uint8_t>());
    GRADZ_TRY(head.tensor, body.varint());
    GRADZ_TRY(head.tensors, body.varint());
    GRADZ_TRY(head.chunk, body.varint());
    GRADZ_TRY(head.content, body.little<std::uint64_t>());
    if (head.coding > 1 && head.coding < kSymbols)
        return Error{Errc::corrupt, "block coding " + std::to_string(head.coding) + " does not exist", ""};
    if (head.tensors == 0) return Error{Errc::corrupt, "a block of no tensors", ""};
    return head;
}

}  // namespace gradz
