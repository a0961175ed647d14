//:omit
// layernorm_welford.cuh — a negative result: Welford's one pass over a row that is in registers
//
// One pass in place of two is worth a lot where a pass reads memory. Here it reads registers.
#ifndef LAYERNORM_WELFORD_CUH
#define LAYERNORM_WELFORD_CUH

#include "layernorm_vec.cuh"
#include "reduce.cuh"

// What is known of a part of a row: how many elements, their mean, the sum of their squared distances from it.
struct moments {
    float count, mean, squares;
};

__device__ inline moments moments_merge(moments a, moments b) {
    float count = a.count + b.count;
    if (count == 0.0f) { return a; }
    float distance = b.mean - a.mean, share = b.count / count;
    return {count, a.mean + distance * share, a.squares + b.squares + distance * distance * a.count * share};
}

template <class T, int VECS>
__global__ void layernorm_forward_kernel5(T *out,                       // (N, C)
                                          float *__restrict__ mean,     // (N)
                                          float *__restrict__ rstd,     // (N)
                                          const T *x,                   // (N, C)
                                          const T *__restrict__ weight, // (C)
                                          const T *__restrict__ bias,   // (C)
                                          int N, int C, float eps, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size, first = lane * size;
    int n = blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *x_row = x + (size_t)n * C; // (C)
    T *out_row = out + (size_t)n * C;   // (C)

    vec<T> row[VECS];
    moments part = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (c >= C) { continue; }
        row[k] = vec_load(x_row + c, C - c, aligned);
        float values[size];
        vec_unpack(row[k], values);
#pragma unroll
        for (int i = 0; i < size; i++) {
            if (c + i < C) { part = moments_merge(part, {1.0f, values[i], 0.0f}); }
        }
    }
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        moments other = {__shfl_xor_sync(all_lanes, part.count, offset), __shfl_xor_sync(all_lanes, part.mean, offset),
                         __shfl_xor_sync(all_lanes, part.squares, offset)};
        part = moments_merge(part, other);
    }
    // Lanes merge the same pairs in opposite orders, so their last bits may differ: all take lane 0's result.
    float row_mean = __shfl_sync(all_lanes, part.mean, 0);
    float row_rstd = rsqrtf(__shfl_sync(all_lanes, part.squares, 0) / C + eps);

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (c >= C) { continue; }
        vec<T> w = vec_load(weight + c, C - c, aligned), b = vec_load(bias + c, C - c, aligned);
        vec_store(out_row + c, vec_normalise(row[k], row_mean, row_rstd, w, b), C - c, aligned);
    }
    if (lane == 0) {
        mean[n] = row_mean;
        rstd[n] = row_rstd;
    }
}

#endif
//:end
