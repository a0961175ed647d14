// softmax_wide.cuh — softmax and its gradient for rows of a cluster, partly in registers, partly staged in shared memory
//
// The blocks of a cluster wait for each other in the middle of a row, with nothing of that row in flight. Other rows on the
// same multiprocessor hide the wait, if there is room for them: with registers alone, 128 KB of rows a multiprocessor, it is
// 0.82 of a copy at 262144 columns of bf16. Each thread stages vecs of its own, so reading them back needs no barrier.
#ifndef SPEED_OF_LIGHT_SOFTMAX_WIDE_CUH
#define SPEED_OF_LIGHT_SOFTMAX_WIDE_CUH

#include "rows.cuh"

#include <cuda_pipeline_primitives.h>

// A thread's partition of a row: `kept` vecs in registers, then `staged` vecs in shared memory. Vec p begins at column
// first + p * step.
template <class T, int threads, int kept, int staged> struct wide_partition {
    static constexpr int width = vec<T>::size, vecs = kept + staged;
    vec<T> held[kept > 0 ? kept : 1];
    uint4 *mine;

    __device__ explicit wide_partition(uint4 *shared) : mine(shared + threadIdx.x) {
        if (kept == 0) { held[0] = {}; }
    }
    __device__ void stage(const T *from, int first, int step, int end) {
#pragma unroll
        for (int p = kept; p < vecs; p++) {
            if (first + p * step < end) {
                __pipeline_memcpy_async(mine + (p - kept) * threads, from + first + p * step, 16);
            }
        }
        __pipeline_commit();
    }
    // The faster of the two loads in each type, as measured.
    __device__ void load(const T *from, int first, int step, int end) {
#pragma unroll
        for (int p = 0; p < kept; p++) {
            if (first + p * step >= end) { continue; }
            held[p] = sizeof(T) == 2 ? vec_load(from + first + p * step) : vec_load_once(from + first + p * step);
        }
    }
    __device__ void get(int p, float *values) const {
        vec_unpack(p < kept ? held[p < kept ? p : 0] : vec<T>{mine[(p - kept) * threads]}, values);
    }
};

template <class T, int threads, int kept, int staged, int cluster>
__global__ void __launch_bounds__(threads) softmax_wide_kernel(T *out,     // (N, C)
                                                               const T *x, // (N, C)
                                                               int C) {
    constexpr int width = vec<T>::size, vecs = kept + staged, step = cluster * threads * width;
    extern __shared__ uint4 staging[]; // (staged, threads)
    __shared__ float2 warp_parts[2 * threads / warp_size], block_parts[2 * cluster];
    wait_for_previous_kernel();
    let_next_kernel_start();
    cluster_started();
    size_t row = (size_t)cluster_number<cluster>() * C;
    int first = (cluster_rank<cluster>() * threads + threadIdx.x) * width;
    wide_partition<T, threads, kept, staged> partition(staging);
    partition.stage(x + row, first, step, C);
    partition.load(x + row, first, step, C);

    float v[width], largest = -FLT_MAX, sum = 0.0f;
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (p == kept) { __pipeline_wait_prior(0); }
        if (first + p * step >= C) { continue; }
        partition.get(p, v);
#pragma unroll
        for (int i = 0; i < width; i++) { largest = fmaxf(largest, v[i]); }
    }
    largest = warp_max(largest);
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (first + p * step >= C) { continue; }
        partition.get(p, v);
#pragma unroll
        for (int i = 0; i < width; i++) { sum += exponential<T>(v[i] - largest); }
    }
    softmax_part part = block_softmax_merge<T, threads / warp_size>({largest, warp_sum(sum)}, warp_parts);
    cluster_all_started();
    part = cluster_softmax_merge<T, cluster>(part, block_parts);
    float scale = 1.0f / part.sum;
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (first + p * step >= C) { continue; }
        partition.get(p, v);
#pragma unroll
        for (int i = 0; i < width; i++) { v[i] = quotient<T>(exponential<T>(v[i] - part.largest), part.sum, scale); }
        vec<T> result;
        vec_pack(result, v);
        vec_store(out + row + first + p * step, result);
    }
}

template <class T, int threads, int kept, int staged, int cluster>
__global__ void __launch_bounds__(threads) softmax_backward_wide_kernel(T *dx,                     // (N, C)
                                                                        const T *dout,             // (N, C)
                                                                        const T *__restrict__ out, // (N, C)
                                                                        int C) {
    constexpr int width = vec<T>::size, vecs = kept + staged, step = cluster * threads * width;
    extern __shared__ uint4 staging[]; // (vecs, threads) of out, (staged, threads) of dout
    __shared__ float warp_parts[2 * threads / warp_size];
    __shared__ float2 block_parts[2 * cluster];
    wait_for_previous_kernel();
    let_next_kernel_start();
    cluster_started();
    size_t row = (size_t)cluster_number<cluster>() * C;
    int first = (cluster_rank<cluster>() * threads + threadIdx.x) * width;
    wide_partition<T, threads, kept, staged> dout_partition(staging + vecs * threads);
    wide_partition<T, threads, 0, vecs> out_partition(staging);
    out_partition.stage(out + row, first, step, C);
    dout_partition.stage(dout + row, first, step, C);
    dout_partition.load(dout + row, first, step, C);
    __pipeline_wait_prior(0);

    float d[width], y[width], dot = 0.0f;
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (first + p * step >= C) { continue; }
        dout_partition.get(p, d);
        out_partition.get(p, y);
#pragma unroll
        for (int i = 0; i < width; i++) { dot += d[i] * y[i]; }
    }
    dot = block_sum_round<threads / warp_size>(warp_sum(dot), warp_parts);
    cluster_all_started();
    dot = cluster_sum<cluster>(dot, block_parts);
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (first + p * step >= C) { continue; }
        dout_partition.get(p, d);
        out_partition.get(p, y);
#pragma unroll
        for (int i = 0; i < width; i++) { d[i] = y[i] * (d[i] - dot); }
        vec<T> result;
        vec_pack(result, d);
        vec_store_once(dx + row + first + p * step, result);
    }
}

template <class T, int threads, int kept, int staged, int cluster>
int softmax_wide(T *out, const T *x, int N, int C, cudaStream_t stream) {
    return launch_clusters({(unsigned)N * cluster, threads, stream, staged * threads * sizeof(uint4)}, cluster,
                           softmax_wide_kernel<T, threads, kept, staged, cluster>, out, x, C);
}

template <class T, int threads, int kept, int staged, int cluster>
int softmax_backward_wide(T *dx, const T *dout, const T *out, int N, int C, cudaStream_t stream) {
    return launch_clusters({(unsigned)N * cluster, threads, stream, (kept + 2 * staged) * threads * sizeof(uint4)},
                           cluster, softmax_backward_wide_kernel<T, threads, kept, staged, cluster>, dx, dout, out, C);
}
#endif
