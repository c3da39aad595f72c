// The bodies of the device's kernels: twins of scale-inl.hpp, quantize-inl.hpp and symbols-inl.hpp
// with the same arithmetic, written for one warp (warp.hpp). No warp writes what another reads.
#pragma once

#include "kernels/cuda/job.hpp"
#include "kernels/cuda/warp.hpp"
#include "kernels/quantize_element.hpp"

namespace gradz::kernels::cuda {

// A warp takes that many elements of a piece at a time, from a multiple of it in the tensor on:
// long pieces, whose scale is known by then, go to many warps.
constexpr std::uint32_t kTile = 16 * kGroup;

// Work items: a warp takes every count-th.
GRADZ_ELEMENT std::uint64_t tiles_of(std::uint32_t longest) { return longest / kTile + 2; }  // cut anywhere

template <class T>
GRADZ_BODY T load(const std::uint8_t* from, std::uint64_t i) {
    return reinterpret_cast<const T*>(from)[i];
}

// Element i as the quantizer sees it.
GRADZ_BODY float element(FloatType type, const std::uint8_t* from, std::uint64_t i) {
    switch (type) {
        case FloatType::f64: return static_cast<float>(load<double>(from, i));
        case FloatType::f16: return f16_value(load<std::uint16_t>(from, i));
        case FloatType::bf16: return bf16_value(load<std::uint16_t>(from, i));
        default: return load<float>(from, i);
    }
}

// And back.
GRADZ_BODY void put(FloatType type, std::uint8_t* to, std::uint64_t i, float x) {
    switch (type) {
        case FloatType::f64: reinterpret_cast<double*>(to)[i] = x; return;
        case FloatType::f16: reinterpret_cast<std::uint16_t*>(to)[i] = static_cast<std::uint16_t>(f16_bits(x)); return;
        case FloatType::bf16:
            reinterpret_cast<std::uint16_t*>(to)[i] = static_cast<std::uint16_t>(bf16_bits(x));
            return;
        default: reinterpret_cast<float*>(to)[i] = x;
    }
}

// Lane k adds elements k, k + 32, .. of a span; spans are added in order: the order of the norm in
// docs/FORMAT.md.
GRADZ_BODY double sum_squares(const QuantizeJob& job, const Piece& piece) {
    double sum = 0;
    for (std::uint32_t span = 0; span < piece.count; span += kSpan) {
        const std::uint32_t end = piece.count - span < kSpan ? piece.count : span + static_cast<std::uint32_t>(kSpan);
        Warp::Each<double> part;
        Warp::each([&](unsigned lane) {
            part[lane] = 0;
            for (std::uint32_t i = span + lane; i < end; i += kWarp) {
                const double x = element(job.type, job.elements, std::uint64_t{piece.begin} + i);
                part[lane] += x * x;
            }
        });
        sum += Warp::fold(part);
    }
    return sum;
}

GRADZ_BODY double max_abs(const QuantizeJob& job, const Piece& piece) {
    Warp::Each<std::int32_t> top;
    Warp::each([&](unsigned lane) {
        top[lane] = 0;
        for (std::uint32_t i = lane; i < piece.count; i += kWarp) {
            const std::int32_t bits =
                to_bits(element(job.type, job.elements, std::uint64_t{piece.begin} + i)) & 0x7fffffff;
            top[lane] = bits > top[lane] ? bits : top[lane];
        }
    });
    return from_bits(Warp::largest(top));
}

GRADZ_BODY bool some_vanish(const QuantizeJob& job, const Piece& piece) {
    if (job.type != FloatType::f64) return false;
    Warp::Each<bool> vanish;
    Warp::each([&](unsigned lane) {
        vanish[lane] = false;
        for (std::uint32_t i = lane; i < piece.count; i += kWarp) {
            const double x = load<double>(job.elements, std::uint64_t{piece.begin} + i);
            vanish[lane] = vanish[lane] || (x != 0 && static_cast<float>(x) == 0);
        }
    });
    return Warp::any(vanish);
}

// First launch: the scale of every piece, one warp each.
GRADZ_BODY void scale_pieces(const QuantizeJob& job, Warp warp) {
    for (std::uint64_t b = warp.index; b < job.count; b += warp.count) {
        const Piece& piece = job.pieces[b];
        BucketScale scale = piece.given;
        if (!job.has_scales) {
            const double norm = job.rule.linf ? max_abs(job, piece) : sum_squares(job, piece);
            scale = bucket_scale(norm, some_vanish(job, piece), job.rule);
        }
        Warp::each([&](unsigned lane) {
            if (lane != 0) return;
            job.scales[b] = scale.S;
            job.escaped[b] = scale.escaped ? 1 : 0;
        });
    }
}

// Steps and symbols by what the levels are.
template <class Rule>
struct ByRule {
    Rule rule;
    float S;

    GRADZ_MEMBER Step step(float x) const { return rule(scaled(x, S)); }
    GRADZ_MEMBER std::int32_t symbol(float x, std::int32_t level) const { return signed_symbol(x, level); }
};

template <bool kSigned>
struct ByTable {
    const TableView& table;
    float S, top;

    GRADZ_MEMBER Step step(float x) const {
        const float r = kSigned ? scaled_signed(x, S, top) : scaled(x, S, top);
        const std::int32_t k = find_level(table, r);
        return table_step(k, r, table.levels[k], table.weights[k]);
    }
    GRADZ_MEMBER std::int32_t symbol(float x, std::int32_t level) const {
        return kSigned ? level : signed_symbol(x, level);
    }
};

GRADZ_BODY void put_symbol(const QuantizeJob& job, std::uint64_t at, std::uint32_t symbol) {
    if (job.grid.bytes == 1) job.symbols[at] = static_cast<std::uint8_t>(symbol);
    else reinterpret_cast<std::uint16_t*>(job.symbols)[at] = static_cast<std::uint16_t>(symbol);
}

// Elements [from, to) of the tensor, inside the piece. Half a warp a group: one Philox block a lane
// serves its eight elements.
template <class Group>
GRADZ_BODY void quantize_tile(const QuantizeJob& job, const Piece& piece, std::uint64_t from, std::uint64_t to,
                              const Group& group) {
    Warp::each([&](unsigned lane) {
        for (std::uint64_t g = from / kGroup + lane / kBlocks; g * kGroup < to; g += kWarp / kBlocks) {
            const std::uint64_t block = g * kBlocks + lane % kBlocks;
            std::uint64_t c[4] = {block, block >> 32, kUpperHalf, 0};
            if (!job.grid.nearest) philox<SingleLane>(c, PhiloxSchedule(piece.key));
            GRADZ_UNROLL  // else the four words are on the stack
                for (unsigned slot = 0; slot < 8; ++slot) {
                const std::uint64_t i = g * kGroup + slot * kBlocks + lane % kBlocks;
                if (i < from || i >= to) continue;
                const std::uint64_t at = piece.begin + (i - piece.first);
                const float x = element(job.type, job.elements, at);
                const Step step = group.step(x);
                const auto h = static_cast<std::int32_t>(c[slot / 2] >> slot % 2 * 16 & 0xffff);
                std::int32_t up = h < step.hi ? 1 : 0;
                if (job.grid.nearest) up = rounds_to_nearest(step);
                else if (h == step.hi)
                    up = philox_half(i, piece.key, kLowerHalf) < static_cast<std::uint32_t>(step.lo) ? 1 : 0;
                put_symbol(job, at, static_cast<std::uint32_t>(group.symbol(x, step.k + up)));
            }
        }
    });
}

GRADZ_BODY void quantize_tile(const QuantizeJob& job, const Piece& piece, std::uint64_t from, std::uint64_t to,
                              float S) {
    const Grid& grid = job.grid;
    if (S == 0) {
        Warp::each([&](unsigned lane) {
            for (std::uint64_t i = from + lane; i < to; i += kWarp)
                put_symbol(job, piece.begin + (i - piece.first), job.zero);
        });
        return;
    }
    switch (grid.kind) {
        case LevelKind::exponential: {
            const ExponentialHalf rule{grid.top, from_bits((grid.top - 1 + 127) << 23)};
            return quantize_tile(job, piece, from, to, ByRule<ExponentialHalf>{rule, S});
        }
        case LevelKind::uniform:
            return quantize_tile(job, piece, from, to, ByRule<Uniform>{{static_cast<float>(grid.top)}, S});
        case LevelKind::magnitudes:
            return quantize_tile(job, piece, from, to, ByTable<false>{grid.table, S, grid.table.levels[grid.top]});
        case LevelKind::signed_table:
            return quantize_tile(job, piece, from, to, ByTable<true>{grid.table, S, grid.table.levels[grid.top]});
    }
}

// Second launch: the symbols.
GRADZ_BODY void quantize_pieces(const QuantizeJob& job, Warp warp) {
    const std::uint64_t tiles = tiles_of(job.longest);
    for (std::uint64_t w = warp.index; w < job.count * tiles; w += warp.count) {
        const std::uint64_t b = w / tiles;
        const Piece& piece = job.pieces[b];
        const std::uint64_t tile = piece.first / kTile + w % tiles, end = piece.first + piece.count;
        const std::uint64_t from = tile * kTile < piece.first ? piece.first : tile * kTile;
        const std::uint64_t to = (tile + 1) * kTile < end ? (tile + 1) * kTile : end;
        if (from < to && job.escaped[b] == 0) quantize_tile(job, piece, from, to, job.scales[b]);
    }
}

// Symbols, all in the alphabet, back to elements.
GRADZ_BODY void decode_pieces(const DecodeJob& job, Warp warp) {
    const std::uint64_t tiles = tiles_of(job.longest);
    for (std::uint64_t w = warp.index; w < job.count * tiles; w += warp.count) {
        const DecodedPiece& piece = job.pieces[w / tiles];
        const std::uint64_t from = w % tiles * kTile;
        const std::uint64_t to = from + kTile < piece.count ? from + kTile : piece.count;
        Warp::each([&](unsigned lane) {
            for (std::uint64_t i = from + lane; i < to; i += kWarp) {
                const std::uint32_t symbol = job.bytes == 1 ? load<std::uint8_t>(job.symbols, piece.symbols + i)
                                                            : load<std::uint16_t>(job.symbols, piece.symbols + i);
                put(job.type, job.elements, piece.begin + i, piece.S * job.values[symbol & (kMaxSymbols - 1)]);
            }
        });
    }
}

}  // namespace gradz::kernels::cuda
