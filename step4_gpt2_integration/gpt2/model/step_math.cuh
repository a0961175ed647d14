// step_math.cuh — what the kernels of a decoding step share
#ifndef GPT2_STEP_MATH_CUH
#define GPT2_STEP_MATH_CUH

#include "common/warp.cuh"

// sums[i] over the warp, for each of the `count` sums (a power of two, at most 32). Lane l gets sum l / (32 / count).
template <int count> __device__ inline float over_warp(float (&sums)[count]) {
    int lane = threadIdx.x % warp_size, offset = warp_size / 2;
#pragma unroll
    for (int left = count; left > 1; left /= 2, offset /= 2) {
        bool upper = lane & offset; // this half of the lanes keeps the upper half of the sums
#pragma unroll
        for (int i = 0; i < left / 2; i++) {
            float kept = upper ? sums[i + left / 2] : sums[i], given = upper ? sums[i] : sums[i + left / 2];
            sums[i] = kept + __shfl_xor_sync(all_lanes, given, offset);
        }
    }
    for (; offset > 0; offset /= 2) { sums[0] += __shfl_xor_sync(all_lanes, sums[0], offset); }
    return sums[0];
}

#endif
