// candidate.cuh — the likeliest token: a value and its id, compared over a warp or a block
#ifndef GPT2_CANDIDATE_CUH
#define GPT2_CANDIDATE_CUH

#include "common/warp.cuh"

#include <cmath>

struct candidate {
    float value;
    int id;
};
constexpr candidate no_candidate = {-INFINITY, 0x7fffffff};

// A NaN wins, so that it is reported. Of equal values the smaller id wins.
__device__ inline candidate better(candidate a, candidate b) {
    if (a.value != a.value) { return a; }
    if (b.value != b.value) { return b; }
    return b.value > a.value || (b.value == a.value && b.id < a.id) ? b : a;
}

__device__ inline candidate best_of_warp(candidate mine) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    // As integers floats are in order, if of negative ones all bits but the sign are turned; and 0 is one value.
    const auto turned = [](int bits) { return bits < 0 ? bits ^ 0x7fffffff : bits; };
    const int mine_in_order = mine.value == mine.value ? turned(__float_as_int(mine.value + 0.0f)) : 0x7fffffff;
    const int best = __reduce_max_sync(all_lanes, mine_in_order);
    const int id = __reduce_min_sync(all_lanes, mine_in_order == best ? mine.id : 0x7fffffff);
    return {__int_as_float(turned(best)), id};
#else
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        candidate other = {__shfl_xor_sync(all_lanes, mine.value, offset), __shfl_xor_sync(all_lanes, mine.id, offset)};
        mine = better(mine, other);
    }
    return mine;
#endif
}

// Over the block; warp 0 gets the result. shared: (warps)
__device__ inline candidate best_of_block(candidate mine, candidate *shared) {
    mine = best_of_warp(mine);
    if (threadIdx.x % warp_size == 0) { shared[threadIdx.x / warp_size] = mine; }
    __syncthreads();
    if (threadIdx.x >= warp_size) { return mine; }
    return best_of_warp(shared[threadIdx.x % (blockDim.x / warp_size)]);
}

#endif
