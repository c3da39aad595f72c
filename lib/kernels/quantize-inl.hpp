// Loops of the quantizer, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// A group under a rule of levels: the step of its element j, and the symbol of the level
// that it is rounded to. First rules that need nothing but the element.
template <class Rule>
struct ByElement {
    const float* x;
    float S;
    Rule rule;

    GRADZ_MEMBER Step step(int j) const { return rule(scaled(x[j], S)); }
    GRADZ_MEMBER std::int32_t symbol(int j, std::int32_t level) const { return signed_symbol(x[j], level); }
};

// Then tables, whose places the whole group has searched before.
template <bool kSigned>
struct ByPlace {
    const float* x;
    const Places& at;

    GRADZ_MEMBER Step step(int j) const { return table_step(at.k[j], at.r[j], at.level[j], at.weight[j]); }
    GRADZ_MEMBER std::int32_t symbol(int j, std::int32_t level) const {
        return kSigned ? level : signed_symbol(x[j], level);
    }
};

// First pass over a group with the upper halves alone. Returns non-zero if one of them was
// equal to its threshold: in a group of 128 that happens with probability 2^-9. One flat
// loop, int to int: GCC halves its vectors where a loop mixes int and byte, and folds a
// reduction with scalar code after every inner loop.
template <class Group>
GRADZ_ELEMENT std::int32_t round_group(Group group, const std::int32_t* __restrict h,
                                       std::int32_t* __restrict symbols) {
    std::int32_t tie = 0;
#pragma omp simd reduction(| : tie)
    for (int j = 0; j < kGroup; ++j) {
        const Step step = group.step(j);
        tie |= h[j] == step.hi ? -1 : 0;  // a compare mask as it is
        symbols[j] = group.symbol(j, step.k + (h[j] < step.hi));
    }
    return tie;
}

// Second pass, rare: the same with all 32 bits.
template <class Group>
__attribute__((noinline, cold)) static void round_ties(Group group, PhiloxKey key, std::uint64_t number,
                                                       const std::int32_t* __restrict h,
                                                       std::int32_t* __restrict symbols) {
    alignas(64) std::int32_t l[kGroup];
    philox_group(key, number, kLowerHalf, l);
    for (int j = 0; j < kGroup; ++j) {
        const Step step = group.step(j);
        symbols[j] = group.symbol(j, step.k + rounds_up(step, h[j], l[j]));
    }
}

// The same to the nearest level: without random bits, all h are 2^15, and there is a tie
// where the element lies within 2^-16 of the middle of its gap.
template <class Group>
__attribute__((noinline, cold)) static void round_halves(Group group, std::int32_t* __restrict symbols) {
    for (int j = 0; j < kGroup; ++j) {
        const Step step = group.step(j);
        symbols[j] = group.symbol(j, step.k + rounds_to_nearest(step));
    }
}

template <class Group>
static void round_all(Group group, bool nearest, PhiloxKey key, std::uint64_t number,
                      std::int32_t* __restrict symbols) {
    alignas(64) std::int32_t h[kGroup];
    if (nearest)
        for (int j = 0; j < kGroup; ++j) h[j] = 0x8000;
    else philox_group(key, number, kUpperHalf, h);
    if (!round_group(group, h, symbols)) return;
    if (nearest) round_halves(group, symbols);
    else round_ties(group, key, number, h, symbols);
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
#pragma omp simd
    for (int j = 0; j < kGroup; ++j) at.r[j] = kSigned ? scaled_signed(x[j], S, top) : scaled(x[j], S, top);
    find(grid.table, grid.top, at);
    return {x, at};
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

// A group that the bucket covers in part is padded with zeros (buckets need not be
// multiples of 128): same loops, no second code path for the ends.
template <class Rule>
static void quantize_by(Rule rule, const Bucket& in, const Grid& grid, std::uint8_t* __restrict out) {
    alignas(64) std::int32_t symbols[kGroup];
    alignas(64) float padded[kGroup];
    Places places;
    for (std::size_t done = 0; done < in.n;) {
        const std::uint64_t number = (in.first + done) / kGroup;
        const std::size_t skip = (in.first + done) % kGroup, room = kGroup - skip;
        const std::size_t take = room < in.n - done ? room : in.n - done;
        const float* x = in.x + done;
        if (take < kGroup) {
            memset(padded, 0, sizeof padded);
            memcpy(padded + skip, x, take * sizeof *x);
            x = padded;
        }
        round_all(place(rule, x, in.S, grid, places), grid.nearest, in.key, number, symbols);
        if (grid.bytes == 1) store<std::uint8_t>(symbols, skip, take, out + done);
        else store<std::uint16_t>(symbols, skip, take, out + 2 * done);
        done += take;
    }
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
