// Random halves for the loops, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// words[w][j]: random word w of block 16 group + b + j, of which element 128 group + 16 s + b + j
// has the half of slot s. Even and odd blocks go side by side in two vectors of 64-bit lanes:
// two chains hide each other's latency, and joining them again is a mask, a shift and an or,
// where narrowing one vector would take shuffles. Half of the first two rounds is the same for
// all blocks, since their counters differ in word 0 alone.
GRADZ_ELEMENT void philox_words(const PhiloxSchedule& keys, std::uint64_t group, int b, Domain domain,
                                Lanes::I (&words)[4]) {
    using V = Lanes::V;
    constexpr int kPairs = sizeof(V) / sizeof(std::uint64_t);
    static_assert(2 * kPairs == Lanes::kFloats && kBlocks % Lanes::kFloats == 0);
    V twice = {};
    for (int i = 0; i < kPairs; ++i) twice[i] = 2 * static_cast<unsigned>(i);
    const std::uint64_t first = group * kBlocks + static_cast<unsigned>(b);
    const std::uint64_t p1 = SingleLane::mul(domain, kThird), c0 = p1 >> 32 ^ first >> 32 ^ keys.k0[0];
    const std::uint64_t p0 = SingleLane::mul(c0, kFirst);
    V chain[2][4];
    for (int odd = 0; odd < 2; ++odd) {
        const V p = Lanes::mul(twice + (first + static_cast<unsigned>(odd)), kFirst);
        const V q = Lanes::mul(p >> 32 ^ keys.k1[0], kThird);
        V(&c)[4] = chain[odd];
        c[0] = q >> 32 ^ (p1 ^ keys.k0[1]);
        c[1] = q;
        c[2] = p ^ (p0 >> 32 ^ keys.k1[1]);
        c[3] = V{} + p0;
    }
    GRADZ_UNROLL
    for (int round = 2; round < kRounds; ++round)
        for (auto& c : chain) philox_round<Lanes>(c, keys.k0[round], keys.k1[round]);
    for (int w = 0; w < 4; ++w)  // little-endian, as every target is
        words[w] = (Lanes::I)((chain[0][w] & std::uint64_t{0xffffffffu}) | chain[1][w] << 32);
}

}  // namespace gradz::kernels::GRADZ_TARGET
