#include "pipeline/block_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/hash.hpp"
#include "pipeline/layout.hpp"

namespace gradz {
namespace {

bool is_scale(float s) {
    return (s == 0 && !std::signbit(s)) ||
           (s >= std::numeric_limits<float>::min() && s <= std::numeric_limits<float>::max());
}

}  // namespace

Result<BlockTask> make_task(const BlockHead& head, Chunk chunk, const StreamState& state, SchemeCache& schemes) {
    const TensorHeader& first = state.tensors[head.tensor];
    BlockTask task;
    task.head = head;
    task.name = first.info.name;
    task.dtype = first.info.dtype;
    GRADZ_TRY(task.scheme, schemes.get(state.specs[first.spec]));
    if (task.scheme->lossless() && head.coding >= kSymbols)
        return Error{Errc::corrupt, "symbols in a lossless block", "tensor " + first.info.name};
    for (std::uint64_t t = head.tensor; t < head.tensor + head.tensors; ++t) {
        const std::uint64_t n = state.elements[t];
        const std::uint64_t count = head.tensors == 1 ? chunk.count : n;
        if (count == 0) continue;
        task.parts.push_back({t, head.tensors == 1 ? chunk.first : 0, count, task.scheme->bucket(n)});
        task.elements += count;
    }
    return task;
}

Result<Done> BlockDecoder::decode(const BlockTask& task, std::span<const std::byte> rest, std::vector<std::byte>& out) {
    const std::size_t width = size_of(task.dtype);
    out.resize(task.elements * width);
    if (task.head.coding < kSymbols) {
        GRADZ_TRY([[maybe_unused]] auto done, decode_elements(task.head.coding, rest, width, out));
        if (xxh3_64(out) != task.head.content) return corrupt("checksum of the elements does not match");
        return Done{};
    }
    ByteReader reader(rest);
    return decode_symbols(task, reader, out);
}

Result<Done> BlockDecoder::read_escapes(const BlockTask& task, ByteReader& rest) {
    pieces_.clear();
    coded_.clear();
    for (const auto& part : task.parts)
        for_each_piece({part.tensor, part.first, part.count}, part.bucket, [&](std::uint64_t, std::uint64_t n) {
            pieces_.push_back({static_cast<std::uint32_t>(n), false});
        });
    GRADZ_TRY(const auto escaped, rest.varint());
    if (escaped > pieces_.size()) return corrupt("more escaped buckets than there are");
    std::uint64_t bytes = 0;
    if (escaped > 0) {
        GRADZ_TRY(const auto bitmap, rest.bytes((pieces_.size() + 7) / 8));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < bitmap.size() * 8; ++i) {
            if ((static_cast<unsigned>(bitmap[i / 8]) >> i % 8 & 1u) == 0) continue;
            if (i >= pieces_.size()) return corrupt("a bucket beyond the block is escaped");
            pieces_[i].escaped = true;
            bytes += pieces_[i].count * size_of(task.dtype);
            ++seen;
        }
        if (seen != escaped) return corrupt("escaped buckets do not match their count");
    }
    for (const auto& piece : pieces_)
        if (!piece.escaped) coded_.push_back(piece.count);
    GRADZ_TRY(escapes_, rest.bytes(bytes));
    return Done{};
}

Result<Done> BlockDecoder::decode_symbols(const BlockTask& task, ByteReader& rest, std::vector<std::byte>& out) {
    const Composition& quantizer = *task.scheme->quantizer;
    const auto coder = coder_by_id(static_cast<std::uint16_t>(task.head.coding - kSymbols));
    if (!coder) return Error{Errc::incompatible, "unknown coder " + std::to_string(task.head.coding - kSymbols), ""};
    if (coder->carries_scales() && !quantizer.has_scales()) return corrupt("this coder cannot take these symbols");
    GRADZ_TRY([[maybe_unused]] auto escapes, read_escapes(task, rest));
    const BlockShape shape{quantizer.kind(), quantizer.alphabet(), coded_};
    scales_.resize(quantizer.has_scales() ? coded_.size() : 0);
    if (quantizer.has_scales() && !coder->carries_scales()) {
        GRADZ_TRY(const auto bytes, rest.bytes(coded_.size() * sizeof(float)));
        if (!bytes.empty()) std::memcpy(scales_.data(), bytes.data(), bytes.size());
    }
    GRADZ_TRY(const auto code, rest.bytes(rest.left()));
    symbols_.resize(shape.elements() * shape.symbol_bytes());
    GRADZ_TRY([[maybe_unused]] auto decoded, coder->decode(shape, code, symbols_, scales_));
    if (!std::all_of(scales_.begin(), scales_.end(), is_scale))
        return corrupt("a scale is not a positive normal number");
    if (xxh3_64({std::as_bytes(std::span(scales_)), symbols_, escapes_}) != task.head.content)
        return corrupt("checksum of the symbols does not match");
    return dequantizer_->restore({task.scheme.get(), task.dtype, pieces_, scales_, symbols_, escapes_}, out);
}

}  // namespace gradz
