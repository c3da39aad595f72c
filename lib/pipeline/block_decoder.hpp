// One BLOCK back to elements. Everything that a hostile body can say is checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "container/reader.hpp"
#include "pipeline/block_dequantizer.hpp"
#include "pipeline/scheme.hpp"

namespace gradz {

// What a block covers, taken from the headers before it is decoded elsewhere.
struct BlockTask {
    struct Part {
        std::uint64_t tensor, first, count;  // elements of one tensor
        std::uint64_t bucket;
    };
    BlockHead head;
    std::string name;  // of the first tensor, for errors
    DType dtype = DType::f32;
    std::shared_ptr<const Scheme> scheme;
    std::vector<Part> parts;  // those with elements
    std::uint64_t elements = 0;
};

// head: of a block that BlockOrder has accepted as covering `chunk`.
Result<BlockTask> make_task(const BlockHead& head, Chunk chunk, const StreamState& state, SchemeCache& schemes);

// Reused from block to block; one per worker.
class BlockDecoder {
public:
    explicit BlockDecoder(std::unique_ptr<BlockDequantizer> dequantizer = make_cpu_dequantizer())
        : dequantizer_(std::move(dequantizer)) {}

    // rest: the body behind the block's head. out: replaced by the elements of all parts,
    // little-endian in the tensor's dtype. Verifies the checksum of the content. Errc::corrupt,
    // truncated, or incompatible for a coder that is unknown.
    Result<Done> decode(const BlockTask& task, std::span<const std::byte> rest, std::vector<std::byte>& out);

private:
    Result<Done> decode_symbols(const BlockTask& task, ByteReader& rest, std::vector<std::byte>& out);
    Result<Done> read_escapes(const BlockTask& task, ByteReader& rest);

    std::unique_ptr<BlockDequantizer> dequantizer_;
    std::vector<CodedPiece> pieces_;
    std::vector<std::uint32_t> coded_;  // elements of each piece that is not escaped
    std::vector<float> scales_;
    std::vector<std::byte> symbols_;
    std::span<const std::byte> escapes_;
};

}  // namespace gradz
