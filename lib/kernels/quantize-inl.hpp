// Loops of the quantizer, compiled once per target by target.cpp. Everything of a group of 128
// elements stays in registers: the random words of its blocks, and a vector of elements at a
// time from the load to the symbol.
namespace gradz::kernels::GRADZ_TARGET {

// A group under a rule of levels: the step of the elements from j on, and the symbol of the
// level that they are rounded to, for a Lane of any width. First rules that need nothing but
// the element.
template <class Rule>
struct ByElement {
    const float* x;
    float S;
    Rule rule;

    template <class Lane>
    GRADZ_MEMBER Steps<Lane> step(typename Lane::F v, int) const {
        return rule.template operator()<Lane>(scaled<Lane>(v, S));
    }
    template <class Lane>
    GRADZ_MEMBER typename Lane::I symbol(typename Lane::F v, typename Lane::I level) const {
        return signed_symbol<Lane>(v, level);
    }
};

// Then tables, whose places the whole group has searched before.
template <bool kSigned>
struct ByPlace {
    const float* x;
    const Places* at;

    template <class Lane>
    GRADZ_MEMBER Steps<Lane> step(typename Lane::F, int j) const {
        using F = typename Lane::F;
        return table_step<Lane>(Lane::template load<typename Lane::I>(at->k + j), Lane::template load<F>(at->r + j),
                                Lane::template load<F>(at->level + j), Lane::template load<F>(at->weight + j));
    }
    template <class Lane>
    GRADZ_MEMBER typename Lane::I symbol(typename Lane::F v, typename Lane::I level) const {
        return kSigned ? level : signed_symbol<Lane>(v, level);
    }
};

GRADZ_ELEMENT Lanes::I half_of(Lanes::I words, int half) {
    typedef std::uint32_t Words __attribute__((vector_size(sizeof(Lanes::I))));
    return half ? (Lanes::I)((Words)words >> 16) : words & 0xffff;
}

// First pass over a group with the upper halves alone. True if one of them was equal to its
// threshold: in a group of 128 that happens with probability 2^-9.
template <class Group>
GRADZ_ELEMENT bool round_group(const Group& group, const PhiloxSchedule& keys, std::uint64_t number,
                               std::int32_t* __restrict symbols) {
    Lanes::Any tie;
    for (int b = 0; b < kBlocks; b += Lanes::kFloats) {
        Lanes::I words[4];
        philox_words(keys, number, b, kUpperHalf, words);
        GRADZ_UNROLL
        for (int slot = 0; slot < 2 * 4; ++slot) {
            const int j = slot * kBlocks + b;
            const auto x = Lanes::load<Lanes::F>(group.x + j);
            const Lanes::I h = half_of(words[slot / 2], slot % 2);
            const Steps<Lanes> step = group.template step<Lanes>(x, j);
            tie.add_equal(h, step.hi);
            const Lanes::I level = Lanes::next_if_less(step.k, h, step.hi);
            const Lanes::I symbol = group.template symbol<Lanes>(x, level);
            memcpy(symbols + j, &symbol, sizeof symbol);
        }
    }
    return tie;
}

// Second pass, rare: the same with all 32 bits.
template <class Group>
__attribute__((noinline, cold)) static void round_ties(const Group& group, const PhiloxSchedule& keys,
                                                       std::uint64_t number, std::int32_t* __restrict symbols) {
    alignas(64) std::int32_t half[2][kGroup];
    for (int b = 0; b < kBlocks; b += Lanes::kFloats)
        for (unsigned domain = kUpperHalf; domain <= kLowerHalf; ++domain) {
            Lanes::I words[4];
            philox_words(keys, number, b, static_cast<Domain>(domain), words);
            for (int slot = 0; slot < 2 * 4; ++slot) {
                const Lanes::I h = half_of(words[slot / 2], slot % 2);
                memcpy(half[domain] + slot * kBlocks + b, &h, sizeof h);
            }
        }
    for (int j = 0; j < kGroup; ++j) {
        const Step step = group.template step<SingleLane>(group.x[j], j);
        symbols[j] = group.template symbol<SingleLane>(
            group.x[j], step.k + rounds_up(step, half[kUpperHalf][j], half[kLowerHalf][j]));
    }
}

// To the nearest level: no random bits.
template <class Group>
GRADZ_ELEMENT void round_nearest(const Group& group, std::int32_t* __restrict symbols) {
    for (int j = 0; j < kGroup; j += Lanes::kFloats) {
        const auto x = Lanes::load<Lanes::F>(group.x + j);
        const Steps<Lanes> step = group.template step<Lanes>(x, j);
        const Lanes::I symbol = group.template symbol<Lanes>(x, step.k + rounds_to_nearest<Lanes>(step));
        memcpy(symbols + j, &symbol, sizeof symbol);
    }
}

// A rule and a group's elements to a Group from above.
template <class Rule>
GRADZ_ELEMENT ByElement<Rule> place(Rule rule, const float* x, float S, const Grid&, Places&) {
    return {x, S, rule};
}

template <bool kSigned>
struct AnyTable {};

template <bool kSigned>
GRADZ_ELEMENT ByPlace<kSigned> place(AnyTable<kSigned>, const float* __restrict x, float S, const Grid& grid,
                                     Places& at) {
    const float top = grid.table.levels[grid.top];
    for (int j = 0; j < kGroup; j += Lanes::kFloats) {
        const auto v = Lanes::load<Lanes::F>(x + j);
        const Lanes::F r = kSigned ? scaled_signed<Lanes>(v, S, top) : scaled<Lanes>(v, S, top);
        memcpy(at.r + j, &r, sizeof r);
    }
    find<kGroup>(grid.table, grid.top, grid.table.weights, at.r, at.k, at.level, at.weight);
    return {x, &at};
}

// Symbols [skip, skip + take) of a group; a whole group goes straight to its place.
template <class Symbol>
static void store(const std::int32_t* __restrict symbols, std::size_t skip, std::size_t take,
                  std::uint8_t* __restrict out) {
    Symbol ends[kGroup];
    std::uint8_t* to = take < kGroup ? reinterpret_cast<std::uint8_t*>(ends) : out;
#pragma omp simd
    for (int j = 0; j < kGroup; ++j) {
        const Symbol symbol = static_cast<Symbol>(symbols[j]);
        memcpy(to + static_cast<std::size_t>(j) * sizeof symbol, &symbol, sizeof symbol);
    }
    if (take < kGroup) memcpy(out, ends + skip, take * sizeof(Symbol));
}

// Memory is slower than one thread, but not if it is asked early enough: 2 KiB ahead, a
// bucket of the usual size, is some 600 cycles.
GRADZ_ELEMENT void fetch_ahead(const float* x) {
    constexpr int kAhead = 512, kLine = 16;
    for (int j = 0; j < kGroup; j += kLine) __builtin_prefetch(x + kAhead + j);
}

// A group that the bucket covers in part is padded with zeros (buckets need not be
// multiples of 128): same loops, no second code path for the ends.
template <bool kNearest, class Symbol, class Rule>
static void quantize_by(Rule rule, const Bucket& in, const Grid& grid, std::uint8_t* __restrict out) {
    alignas(64) std::int32_t symbols[kGroup];
    alignas(64) float padded[kGroup];
    Places places;
    const PhiloxSchedule keys(in.key);
    for (std::size_t done = 0; done < in.n;) {
        const std::uint64_t number = (in.first + done) / kGroup;
        const std::size_t skip = (in.first + done) % kGroup, room = kGroup - skip;
        const std::size_t take = room < in.n - done ? room : in.n - done;
        const float* x = in.x + done;
        if (take < kGroup) {
            memset(padded, 0, sizeof padded);
            memcpy(padded + skip, x, take * sizeof *x);
            x = padded;
        } else {
            fetch_ahead(x);
        }
        const auto group = place(rule, x, in.S, grid, places);
        if (kNearest) round_nearest(group, symbols);
        else if (round_group(group, keys, number, symbols)) round_ties(group, keys, number, symbols);
        store<Symbol>(symbols, skip, take, out + done * sizeof(Symbol));
        done += take;
    }
}

template <class Rule>
static void quantize_by(Rule rule, const Bucket& in, const Grid& grid, std::uint8_t* symbols) {
    if (grid.nearest)
        return grid.bytes == 1 ? quantize_by<true, std::uint8_t>(rule, in, grid, symbols)
                               : quantize_by<true, std::uint16_t>(rule, in, grid, symbols);
    return grid.bytes == 1 ? quantize_by<false, std::uint8_t>(rule, in, grid, symbols)
                           : quantize_by<false, std::uint16_t>(rule, in, grid, symbols);
}

static void quantize(const Bucket& in, const Grid& grid, std::uint8_t* symbols) {
    switch (grid.kind) {
        case LevelKind::exponential:
            return quantize_by(ExponentialHalf{grid.top, from_bits((grid.top - 1 + 127) << 23)}, in, grid, symbols);
        case LevelKind::uniform: return quantize_by(Uniform{static_cast<float>(grid.top)}, in, grid, symbols);
        case LevelKind::magnitudes: return quantize_by(AnyTable<false>{}, in, grid, symbols);
        case LevelKind::signed_table: return quantize_by(AnyTable<true>{}, in, grid, symbols);
    }
}

}  // namespace gradz::kernels::GRADZ_TARGET
