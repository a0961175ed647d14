// layernorm_backward_few.cuh — the backward pass of LayerNorm for few rows: both directions at once
//
// With few rows there is no bandwidth to save, only latency: nothing may wait for anything else. The first N blocks take
// a row each, for dinp; the others take 64 bytes of columns each, for dweight and dbias, and read x and dout again, from
// the L2. No partial sums, no second stage. (dinp may not be dout: the columns are still being read.)
#ifndef SPEED_OF_LIGHT_LAYERNORM_BACKWARD_FEW_CUH
#define SPEED_OF_LIGHT_LAYERNORM_BACKWARD_FEW_CUH

#include "layernorm_backward.cuh"

enum { few_vecs = 4, few_most_warps = 32 }; // 64 bytes of columns a block

// One vec a thread, so everything is asked for at once.
template <class T, bool RESIDUAL>
__device__ inline void layernorm_backward_few_row(const layernorm_backward_arguments<T> &a, float2 *shared) {
    int c = threadIdx.x * vec<T>::size;
    size_t at = (size_t)blockIdx.x * a.C + c;
    bool has = c < a.C;
    float2 sums = make_float2(0.0f, 0.0f);
    float weight[vec<T>::size], nowhere[2][vec<T>::size] = {};
    vec<T> x, dout, dsum;
    if (has) {
        x = vec_load(a.x + at);
        dout = vec_load(a.dout + at);
        vec_unpack(vec_load(a.weight + c), weight);
        if (RESIDUAL) { dsum = vec_load(a.dsum + at); }
    }
    layernorm_row row = {a.mean[blockIdx.x], a.rstd[blockIdx.x]};
    if (has) { layernorm_backward_sums(x, dout, weight, row, sums, nowhere[0], nowhere[1]); }

    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    sums = make_float2(warp_sum(sums.x), warp_sum(sums.y));
    if (lane == 0) { shared[warp] = sums; }
    __syncthreads();
    float2 part = lane < warps ? shared[lane] : make_float2(0.0f, 0.0f);
    float2 means = make_float2(warp_sum(part.x) * a.inverse_C, warp_sum(part.y) * a.inverse_C);
    if (has) { vec_store(a.dinp + at, layernorm_backward_dinp<T, RESIDUAL>(x, dout, weight, dsum, row, means)); }
}

// A thread takes one vec of every (threads / 4)-th row. shared: (warps, 4, 2 sizes)
template <class T>
__device__ inline void layernorm_backward_few_columns(const layernorm_backward_arguments<T> &a, float *shared) {
    constexpr int size = vec<T>::size, sums = few_vecs * 2 * size; // that a block finishes, and a thread each
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    int start = (blockIdx.x - a.N) * few_vecs * size, c = start + threadIdx.x % few_vecs * size;

    int finishing = start + threadIdx.x / (2 * size) * size + threadIdx.x % size;
    bool finishes = threadIdx.x < sums && finishing < a.C;
    float *to = (threadIdx.x % (2 * size) < size ? a.dweight : a.dbias) + finishing;
    float before = finishes ? *to : 0.0f;

    float dweight[size] = {}, dbias[size] = {}, weight[size] = {};
    float2 row = make_float2(0.0f, 0.0f);
    if (c < a.C) {
#pragma unroll 4
        for (int n = threadIdx.x / few_vecs; n < a.N; n += blockDim.x / few_vecs) {
            vec<T> x = vec_load(a.x + (size_t)n * a.C + c), dout = vec_load(a.dout + (size_t)n * a.C + c);
            layernorm_backward_sums(x, dout, weight, layernorm_row{a.mean[n], a.rstd[n]}, row, dweight, dbias);
        }
    }
#pragma unroll
    for (int i = 0; i < size; i++) {
#pragma unroll
        for (int offset = few_vecs; offset < warp_size; offset *= 2) {
            dweight[i] += __shfl_xor_sync(all_lanes, dweight[i], offset);
            dbias[i] += __shfl_xor_sync(all_lanes, dbias[i], offset);
        }
        if (lane < few_vecs) {
            shared[warp * sums + lane * 2 * size + i] = dweight[i];
            shared[warp * sums + lane * 2 * size + size + i] = dbias[i];
        }
    }
    __syncthreads();
    if (!finishes) { return; }
    float even = 0.0f, odd = 0.0f; // two short sums keep more digits than a long one
    for (int other = 0; other < warps; other += 2) {
        even += shared[other * sums + threadIdx.x];
        if (other + 1 < warps) { odd += shared[(other + 1) * sums + threadIdx.x]; }
    }
    *to = before + (even + odd);
}

template <class T, bool RESIDUAL>
__global__ void __launch_bounds__(few_most_warps *warp_size)
    layernorm_backward_few(const layernorm_backward_arguments<T> a) {
    __shared__ __align__(16) float shared[few_most_warps * few_vecs * 2 * vec<T>::size];
    let_next_kernel_start();
    int c = threadIdx.x * vec<T>::size;
    if (starts_early && blockIdx.x < (unsigned)a.N && c < a.C) {
        size_t at = (size_t)blockIdx.x * a.C + c;
        prefetch_l2(a.x + at);
        prefetch_l2(a.dout + at);
        if (RESIDUAL) { prefetch_l2(a.dsum + at); }
        if (blockIdx.x == 0) { prefetch_l2(a.weight + c); }
    }
    wait_for_previous_kernel();
    if (blockIdx.x < (unsigned)a.N) {
        layernorm_backward_few_row<T, RESIDUAL>(a, (float2 *)shared);
    } else {
        layernorm_backward_few_columns<T>(a, shared);
    }
}

#endif
