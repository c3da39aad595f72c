#include "pipeline/shares.hpp"

namespace gradz {

std::vector<std::uint64_t> output_shares(const IndexedStream& stream) {
    std::vector<std::uint64_t> shares = stream.state.header_bytes;
    const auto& elements = stream.state.elements;
    for (const auto& block : stream.blocks) {
        const std::uint64_t end = block.tensor + block.tensors;
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
