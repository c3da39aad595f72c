// Random halves for the loops, compiled once per target by target.cpp.
namespace gradz::kernels::GRADZ_TARGET {

// half[j]: 16 random bits of element 128 group + j. Even and odd blocks go side by side in
// two vectors of 64-bit lanes: two chains hide each other's latency, and joining them again
// is a mask, a shift and an or, where narrowing one vector would take shuffles.
static void philox_group(PhiloxKey key, std::uint64_t group, Domain domain, std::int32_t* __restrict half) {
    using V = Lanes::V;
    typedef std::uint32_t Words __attribute__((vector_size(sizeof(V))));
    constexpr int kPairs = sizeof(V) / sizeof(std::uint64_t);
    V twice = {};
    for (int i = 0; i < kPairs; ++i) twice[i] = 2 * static_cast<unsigned>(i);
    for (int b = 0; b < kBlocks; b += 2 * kPairs) {
        const std::uint64_t first = group * kBlocks + static_cast<unsigned>(b);
        const V zero = {}, high = zero + (first >> 32), third = zero + std::uint64_t{domain};
        V even[4] = {twice + first, high, third, zero};
        V odd[4] = {twice + (first + 1), high, third, zero};
        philox<Lanes>(even, key);
        philox<Lanes>(odd, key);
        for (int w = 0; w < 4; ++w) {  // little-endian, as every target is
            const Words words = (Words)((even[w] & std::uint64_t{0xffffffffu}) | odd[w] << 32);
            const Words low = words & 0xffffu, upper = words >> 16;
            memcpy(half + 2 * w * kBlocks + b, &low, sizeof low);
            memcpy(half + (2 * w + 1) * kBlocks + b, &upper, sizeof upper);
        }
    }
}

}  // namespace gradz::kernels::GRADZ_TARGET
