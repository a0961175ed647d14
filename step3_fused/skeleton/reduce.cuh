// reduce.cuh — lab 2's reductions over a warp and over a block, given
//
// Each function is called by all threads that take part, each with its own `value`, and every one of them gets the
// result back.
//
//   warp_max, warp_sum     warp; 5 shuffles, no memory, no barrier
//   block_max, block_sum   block; the warps' results meet in shared memory; 2 barriers
//   block_sum2             two sums at once: the same 2 barriers for both
#ifndef REDUCE_CUH
#define REDUCE_CUH

#include <cuda_runtime.h>
#include <math.h>

constexpr int warp_size = 32;
constexpr unsigned all_lanes = 0xffffffffu;

// ---- one warp: all 32 lanes call ----

__device__ inline float warp_max(float value) {
#pragma unroll
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(all_lanes, value, offset));
    }
    return value;
}

__device__ inline float warp_sum(float value) {
#pragma unroll
    for (int offset = warp_size / 2; offset > 0; offset /= 2) { value += __shfl_xor_sync(all_lanes, value, offset); }
    return value;
}

// ---- one block: blockDim.x a multiple of 32; shared: one float for each of up to 32 warps (block_sum2: two) ----

__device__ inline float block_max(float value, float *shared) {
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    value = warp_max(value);
    if (lane == 0) { shared[warp] = value; }
    __syncthreads(); // every warp's result has arrived
    value = warp_max(lane < warps ? shared[lane] : -INFINITY);
    __syncthreads(); // everyone has read: shared may be used again
    return value;
}

__device__ inline float block_sum(float value, float *shared) {
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    value = warp_sum(value);
    if (lane == 0) { shared[warp] = value; }
    __syncthreads();
    value = warp_sum(lane < warps ? shared[lane] : 0.0f);
    __syncthreads();
    return value;
}

__device__ inline float2 block_sum2(float2 value, float *shared) {
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    value = make_float2(warp_sum(value.x), warp_sum(value.y));
    if (lane == 0) {
        shared[warp] = value.x;
        shared[warp_size + warp] = value.y;
    }
    __syncthreads();
    value = make_float2(warp_sum(lane < warps ? shared[lane] : 0.0f),
                        warp_sum(lane < warps ? shared[warp_size + lane] : 0.0f));
    __syncthreads();
    return value;
}

#endif
