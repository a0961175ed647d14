// reduce.cuh — reductions over a block and over a warp, written once and used by every kernel of lab 2
//
// A reduction makes one value out of many: a sum, a largest element. All threads that take part call the function, each
// with its own `value`, and each of them gets the result.
//
//   block_tree_max, block_tree_sum    of a block: halves in shared memory; log2(threads) + 2 barriers      given, to read
//   warp_max, warp_sum                of a warp: 5 shuffles, no memory, no barrier
//   block_max, block_sum              of a block: the warps' results go through shared memory, with 2 barriers
//   softmax_part, softmax_merge       online softmax: the maximum and the sum of a part of a row; two parts become one
#ifndef REDUCE_CUH
#define REDUCE_CUH

#include <cuda_runtime.h>
#include <float.h>
#include <math.h>

constexpr int warp_size = 32;
constexpr unsigned all_lanes = 0xffffffffu;

// ---- the tree: blockDim.x a power of two; shared: blockDim.x floats ----

__device__ inline float block_tree_max(float value, float *shared) {
    int t = threadIdx.x;
    shared[t] = value;
    __syncthreads(); // all values are in shared
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) { shared[t] = fmaxf(shared[t], shared[t + stride]); }
        __syncthreads(); // this level is complete. Outside the if: every thread of the block must get here
    }
    float result = shared[0];
    __syncthreads(); // all have read the result: shared may be used again
    return result;
}

__device__ inline float block_tree_sum(float value, float *shared) {
    int t = threadIdx.x;
    shared[t] = value;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) { shared[t] += shared[t + stride]; }
        __syncthreads();
    }
    float result = shared[0];
    __syncthreads();
    return result;
}

// ---- one warp: all 32 lanes call ----

__device__ inline float warp_max(float value) {
    //:todo 2a The largest of the 32 values of a warp, in every lane.
    //: Goal      five shuffles, no memory, no barrier.
    //: Contract  every lane returns the same value, for any 32 values.
    //: Known     __shfl_xor_sync(all_lanes, value, offset) is the value
    //:           of the lane whose number differs in the bit `offset`.
    //: Question  after the first exchange two lanes know the maximum
    //:           of two values. Which offsets make that 4, 8, 16, 32?
    //:solution
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(all_lanes, value, offset));
    }
    return value;
    //:stub
    //: return value;
    //:end
}

__device__ inline float warp_sum(float value) {
    //:todo 2b The sum of the 32 values of a warp, in every lane.
    //: Goal      and contract as above, with a sum.
    //:solution
    for (int offset = warp_size / 2; offset > 0; offset /= 2) { value += __shfl_xor_sync(all_lanes, value, offset); }
    return value;
    //:stub
    //: return value;
    //:end
}

// ---- one block: blockDim.x a multiple of 32; shared: one float for each of up to 32 warps ----

__device__ inline float block_max(float value, float *shared) {
    //:todo 2c The largest value of a block, in every thread.
    //: Goal      two barriers. Every thread of the block calls it and gets the result.
    //: Shapes    shared has one float for each warp; a block has 1 to 32 warps.
    //: Contract  shared may be used again as soon as the function returns; right for 1 warp, for 3, and for 32.
    //: Question  what does each of the two barriers separate? What does a lane contribute whose number is no warp's?
    //:solution
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    value = warp_max(value);
    if (lane == 0) { shared[warp] = value; }
    __syncthreads();
    value = warp_max(lane < warps ? shared[lane] : -INFINITY);
    __syncthreads();
    return value;
    //:stub
    //: return value;
    //:end
}

__device__ inline float block_sum(float value, float *shared) {
    //:todo 2d The sum of the values of a block, in every thread.
    //: Goal      and contract as in 2c. Which value changes no sum?
    //:solution
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    value = warp_sum(value);
    if (lane == 0) { shared[warp] = value; }
    __syncthreads();
    value = warp_sum(lane < warps ? shared[lane] : 0.0f);
    __syncthreads();
    return value;
    //:stub
    //: return value;
    //:end
}

// ---- online softmax ----

// The largest element of a part of a row, and the sum of exp(x - largest) over the part. The empty part is {-FLT_MAX, 0}:
// with the lowest finite number, since a row may begin with masked elements, and -INFINITY - -INFINITY is NaN.
struct softmax_part {
    float largest, sum;
};

__device__ inline softmax_part softmax_merge(softmax_part a, softmax_part b) {
    //:todo 5a Two parts of a row become one.
    //: Goal      from (m1, s1) and (m2, s2) the pair that one pass over both parts would give.
    //: Contract  in any order the same result, up to rounding; a part without
    //:           elements changes nothing; no NaN from two finite parts.
    //: Question  s1 is relative to m1. What is it relative to the larger maximum?
    //:solution
    float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
    //:stub
    //: return a;
    //:end
}

__device__ inline softmax_part warp_softmax_merge(softmax_part part) {
    //:todo 5b The part that is the whole row, in every lane.
    //: Goal      as warp_max, for pairs: one call for each of the 32 lanes, five exchanges of two values.
    //:solution
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        softmax_part other = {__shfl_xor_sync(all_lanes, part.largest, offset),
                              __shfl_xor_sync(all_lanes, part.sum, offset)};
        part = softmax_merge(part, other);
    }
    return part;
    //:stub
    //: return part;
    //:end
}

#endif
