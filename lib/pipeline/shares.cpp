#include "pipeline/shares.hpp"

namespace gradz {

std::vector<std::uint64_t> output_shares(const IndexedStream& stream) {
    std::vector<std::uint64_t> shares = stream.state.header_bytes;
    const auto& elements = stream.state.elements;
    for (std::size_t b = 0; b < stream.blocks.size(); ++b) {
        const IndexedBlock& block = stream.blocks[b];
        const bool chunked = elements[block.tensor] >= kSmallTensor;
        const std::uint64_t next = b + 1 < stream.blocks.size() ? stream.blocks[b + 1].tensor : elements.size();
        const std::uint64_t end = chunked ? block.tensor + 1 : next;
        std::uint64_t all = 0, seen = 0, given = 0;
        for (std::uint64_t t = block.tensor; t < end; ++t) all += elements[t];
        for (std::uint64_t t = block.tensor; t < end; ++t) {
            seen += elements[t];
            const std::uint64_t upto = block.length * seen / all;
            shares[t] += upto - given;
            given = upto;
        }
    }
    return shares;
}

}  // namespace gradz
