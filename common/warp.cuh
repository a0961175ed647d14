// warp.cuh — reductions over a warp: all 32 lanes call, and each of them gets the result. Lab 2's warp_max and warp_sum
#ifndef WARP_CUH
#define WARP_CUH

#include <cuda_runtime.h>
#include <math.h>

constexpr int warp_size = 32;
constexpr unsigned all_lanes = 0xffffffffu;

template <class Combine> __device__ inline float warp_reduce(float value, Combine combine) {
#pragma unroll
    for (int mask = warp_size / 2; mask > 0; mask /= 2) {
        value = combine(value, __shfl_xor_sync(all_lanes, value, mask));
    }
    return value;
}

__device__ inline float warp_max(float value) {
    return warp_reduce(value, [](float a, float b) { return fmaxf(a, b); });
}

__device__ inline float warp_sum(float value) {
    return warp_reduce(value, [](float a, float b) { return a + b; });
}

#endif
