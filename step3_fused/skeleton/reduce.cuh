// reduce.cuh — lab 2's reductions over a warp and over a block, given
//
// All threads that take part call the function, each with its own `value`, and each of them gets the result.
//
//   warp_max, warp_sum     of a warp: 5 shuffles, no memory, no barrier (common/warp.cuh)
//   block_max, block_sum   of a block: the warps' results go through shared memory, with 2 barriers
//   block_sum2             two sums with the same 2 barriers
#ifndef REDUCE_CUH
#define REDUCE_CUH

#include "common/warp.cuh"

#include <cuda_runtime.h>
#include <math.h>

// ---- one block: blockDim.x a multiple of 32; shared: one float for each of up to 32 warps (block_sum2: two) ----

__device__ inline float block_max(float value, float *shared) {
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    value = warp_max(value);
    if (lane == 0) { shared[warp] = value; }
    __syncthreads(); // all results are in shared
    value = warp_max(lane < warps ? shared[lane] : -INFINITY);
    __syncthreads(); // all have been read: shared may be used again
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
