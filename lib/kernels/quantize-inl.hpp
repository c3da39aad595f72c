// Loops of the quantizer, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// First pass over a group with the upper halves alone. Returns non-zero if one of them was
// equal to its threshold: in a group of 128 that happens with probability 2^-9. One flat
// loop, int to int: GCC halves its vectors where a loop mixes int and byte, and folds a
// reduction with scalar code after every inner loop.
template <class Rule>
GRADZ_ELEMENT std::int32_t round_group(const float* __restrict x, float S, Rule rule, const std::int32_t* __restrict h,
                                       std::int32_t* __restrict symbols) {
    std::int32_t tie = 0;
#pragma omp simd reduction(| : tie)
    for (int j = 0; j < kGroup; ++j) {
        const Step step = rule(scaled(x[j], S));
        tie |= h[j] == step.hi ? -1 : 0;  // a compare mask as it is
        symbols[j] = signed_symbol(x[j], step.k + (h[j] < step.hi));
    }
    return tie;
}

// Second pass, rare: the same with all 32 bits.
template <class Rule>
__attribute__((noinline, cold)) static void round_ties(const float* __restrict x, float S, Rule rule, PhiloxKey key,
                                                       std::uint64_t group, const std::int32_t* __restrict h,
                                                       std::int32_t* __restrict symbols) {
    alignas(64) std::int32_t l[kGroup];
    philox_group(key, group, kLowerHalf, l);
    for (int j = 0; j < kGroup; ++j) {
        const Step step = rule(scaled(x[j], S));
        symbols[j] = signed_symbol(x[j], step.k + rounds_up(step, h[j], l[j]));
    }
}

// A group that the bucket covers in part is padded with zeros (buckets need not be
// multiples of 128): same loops, no second code path for the ends.
template <class Rule>
static void quantize(const Bucket& in, Rule rule, std::uint8_t* __restrict out) {
    alignas(64) std::int32_t h[kGroup], symbols[kGroup];
    alignas(64) float padded[kGroup];
    std::uint8_t ends[kGroup];
    for (std::size_t done = 0; done < in.n;) {
        const std::uint64_t group = (in.first + done) / kGroup;
        const std::size_t skip = (in.first + done) % kGroup, room = kGroup - skip;
        const std::size_t take = room < in.n - done ? room : in.n - done;
        const float* x = in.x + done;
        if (take < kGroup) {
            memset(padded, 0, sizeof padded);
            memcpy(padded + skip, x, take * sizeof *x);
            x = padded;
        }
        philox_group(in.key, group, kUpperHalf, h);
        if (round_group(x, in.S, rule, h, symbols)) round_ties(x, in.S, rule, in.key, group, h, symbols);
        std::uint8_t* bytes = take < kGroup ? ends : out + done;
        for (int j = 0; j < kGroup; ++j) bytes[j] = static_cast<std::uint8_t>(symbols[j]);
        if (take < kGroup) memcpy(out + done, ends + skip, take);
        done += take;
    }
}

static void quantize_exponential(const Bucket& in, std::int32_t m, std::uint8_t* symbols) {
    quantize(in, ExponentialHalf{m, from_bits((m - 1 + 127) << 23)}, symbols);
}

static void quantize_uniform(const Bucket& in, std::int32_t m, std::uint8_t* symbols) {
    quantize(in, Uniform{static_cast<float>(m)}, symbols);
}

}  // namespace gradz::kernels::GRADZ_TARGET
