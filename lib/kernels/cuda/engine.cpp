#include "kernels/cuda/engine.hpp"

#include <algorithm>
#include <cstring>

namespace gradz::kernels::cuda {
namespace {

constexpr std::size_t kAlign = 256;  // of every section of a buffer

std::size_t aligned(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

std::size_t width_of(FloatType type) {
    return type == FloatType::f64 ? sizeof(double) : type == FloatType::f32 ? sizeof(float) : sizeof(std::uint16_t);
}

// Sections of a buffer, one behind another.
class Sections {
public:
    std::size_t add(std::size_t bytes) {
        const std::size_t begin = end_;
        end_ = aligned(end_ + bytes);
        return begin;
    }
    std::size_t size() const { return end_; }

private:
    std::size_t end_ = 0;
};

template <class T>
T* at(std::byte* base, std::size_t offset) {
    return reinterpret_cast<T*>(base + offset);
}

template <class Piece>
std::uint32_t longest(std::span<const Piece> pieces) {
    std::uint32_t most = 0;
    for (const Piece& piece : pieces) most = std::max(most, piece.count);
    return most;
}

// Bytes of what a TableView points at; 0 for levels without a table.
struct TableSizes {
    explicit TableSizes(const Grid& grid) {
        const bool is_signed = grid.kind == LevelKind::signed_table;
        if (!is_signed && grid.kind != LevelKind::magnitudes) return;
        levels = (kMaxLevels + 1) * sizeof(float), weights = kMaxLevels * sizeof(float);
        start = static_cast<std::size_t>(grid.table.cells) * (is_signed ? 2 : 1);
    }
    std::size_t levels = 0, weights = 0, start = 0;
};

void copy(std::byte* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

Result<std::byte*> BlockEngine::input(std::size_t bytes) {
    GRADZ_TRY([[maybe_unused]] auto reserved, reserve(in_, bytes, 0));
    return in_.host;
}

Result<Quantized> BlockEngine::quantize(const QuantizeTask& task) {
    const TableSizes sizes(task.grid);
    Sections in, out;
    in.add(task.elements * width_of(task.type));
    const std::size_t pieces = in.add(task.pieces.size_bytes()), levels = in.add(sizes.levels);
    const std::size_t weights = in.add(sizes.weights), start = in.add(sizes.start);
    const std::size_t scales = out.add(task.pieces.size() * sizeof(float)), escaped = out.add(task.pieces.size());
    const std::size_t symbol_bytes = task.elements * static_cast<std::size_t>(task.grid.bytes);
    const std::size_t symbols = out.add(symbol_bytes);
    GRADZ_TRY([[maybe_unused]] auto for_in, reserve(in_, in.size(), pieces));
    GRADZ_TRY([[maybe_unused]] auto for_out, reserve(out_, out.size(), 0));
    copy(in_.host + pieces, task.pieces.data(), task.pieces.size_bytes());
    copy(in_.host + levels, task.grid.table.levels, sizes.levels);
    copy(in_.host + weights, task.grid.table.weights, sizes.weights);
    copy(in_.host + start, task.grid.table.start, sizes.start);
    QuantizeJob job{task.type, task.has_scales, task.grid, task.rule, task.zero, {}, {}, 0, 0, {}, {}, {}};
    job.grid.table.levels = at<const float>(in_.device, levels);
    job.grid.table.weights = at<const float>(in_.device, weights);
    job.grid.table.start = at<const std::uint8_t>(in_.device, start);
    job.elements = at<const std::uint8_t>(in_.device, 0);
    job.pieces = at<const Piece>(in_.device, pieces);
    job.count = static_cast<std::uint32_t>(task.pieces.size()), job.longest = longest(task.pieces);
    job.scales = at<float>(out_.device, scales);
    job.escaped = at<std::uint8_t>(out_.device, escaped);
    job.symbols = at<std::uint8_t>(out_.device, symbols);
    if (job.count > 0) { GRADZ_TRY([[maybe_unused]] auto done, run(job, in.size(), out.size())); }
    return Quantized{{at<const float>(out_.host, scales), task.pieces.size()},
                     {at<const std::uint8_t>(out_.host, escaped), task.pieces.size()},
                     {out_.host + symbols, symbol_bytes}};
}

Result<std::span<const std::byte>> BlockEngine::decode(const DecodeTask& task) {
    Sections in;
    in.add(task.symbols * task.symbol_bytes);
    const std::size_t pieces = in.add(task.pieces.size_bytes()), values = in.add(task.values.size_bytes());
    const std::size_t results = task.elements * width_of(task.type);
    GRADZ_TRY([[maybe_unused]] auto for_in, reserve(in_, in.size(), pieces));
    GRADZ_TRY([[maybe_unused]] auto for_out, reserve(out_, results, 0));
    copy(in_.host + pieces, task.pieces.data(), task.pieces.size_bytes());
    copy(in_.host + values, task.values.data(), task.values.size_bytes());
    DecodeJob job{task.type, task.symbol_bytes, {}, {}, {}, 0, 0, {}};
    job.values = at<const float>(in_.device, values);
    job.symbols = at<const std::uint8_t>(in_.device, 0);
    job.pieces = at<const DecodedPiece>(in_.device, pieces);
    job.count = static_cast<std::uint32_t>(task.pieces.size()), job.longest = longest(task.pieces);
    job.elements = at<std::uint8_t>(out_.device, 0);
    if (job.count > 0) { GRADZ_TRY([[maybe_unused]] auto done, run(job, in.size(), results)); }
    return std::span<const std::byte>(out_.host, results);
}

}  // namespace gradz::kernels::cuda
