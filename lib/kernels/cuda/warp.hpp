// A warp: 32 lanes in step, which the bodies of the device's kernels are written for. On a device
// a value that each lane has is a register, and each() calls its function for this thread's lane;
// on the host it is an array, and each() is a loop, so that tests run the same bodies.
#pragma once

#include <cstdint>

#include "kernels/element.hpp"

#ifdef __CUDACC__
#define GRADZ_BODY static __device__
#else
#define GRADZ_BODY static inline
#endif

namespace gradz::kernels::cuda {

constexpr unsigned kWarp = 32;

#ifdef __CUDACC__

struct Warp {
    template <class T>
    struct Each {
        T mine;
        __device__ T& operator[](unsigned) { return mine; }
    };

    std::uint64_t index, count;  // of this warp, among all

    template <class F>
    __device__ static void each(F f) {
        f(threadIdx.x % kWarp);
    }
    // Added in halves: 16, 8, 4, 2, 1. Every lane has the sum of lane 0.
    __device__ static double fold(Each<double> sum) {
        for (unsigned width = kWarp / 2; width > 0; width /= 2) sum.mine += __shfl_down_sync(~0u, sum.mine, width);
        return __shfl_sync(~0u, sum.mine, 0);
    }
    __device__ static std::int32_t largest(Each<std::int32_t> x) { return __reduce_max_sync(~0u, x.mine); }
    __device__ static bool any(Each<bool> x) { return __any_sync(~0u, x.mine) != 0; }
};

#else

struct Warp {
    template <class T>
    struct Each {
        T all[kWarp];
        T& operator[](unsigned lane) { return all[lane]; }
    };

    std::uint64_t index, count;

    template <class F>
    static void each(F f) {
        for (unsigned lane = 0; lane < kWarp; ++lane) f(lane);
    }
    static double fold(Each<double> sum) {
        for (unsigned width = kWarp / 2; width > 0; width /= 2)
            for (unsigned lane = 0; lane < width; ++lane) sum[lane] += sum[lane + width];
        return sum[0];
    }
    static std::int32_t largest(Each<std::int32_t> x) {
        std::int32_t top = x[0];
        each([&](unsigned lane) { top = x[lane] > top ? x[lane] : top; });
        return top;
    }
    static bool any(Each<bool> x) {
        bool is = false;
        each([&](unsigned lane) { is = is || x[lane]; });
        return is;
    }
};

#endif

}  // namespace gradz::kernels::cuda
