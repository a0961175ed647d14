//:omit
// layernorm.cu — LayerNorm along rows, from lab 2's best kernel to the byte floor (lab 3, to read)
//
// Purpose   The op of labs 1 and 2 in three types, and as fast as the memory allows.
// Math      mean = sum_c x[c] / C     rstd = 1 / sqrt(sum_c (x[c] - mean)^2 / C + eps)
//           out[c] = (x[c] - mean) * rstd * weight[c] + bias[c]      out, x: (N, C); mean, rstd: (N); weight, bias: (C)
// Bytes     floor: read x once, write out once, 8 bytes a row: 2 s N C + 8 N, where an element has s bytes. 8192 x 768:
//           50.4 MB in fp32, 25.2 MB in bf16: 10.5 and 5.3 us on an H200 (4.8 TB/s). Kernels 1 and 2 request 4 s N C.
// Kernels   1  warp per row, one element at a time: lab 2's best
//           2  warp per row, 16 bytes at a time: the same bytes by a quarter or an eighth of the instructions
//           3  warp per row, the row in registers: one read, the statistics in two passes over registers
//           4  block per row, the row in registers: for rows that are too long for a warp
//           5  speed of light: see speed_of_light/layernorm_forward.cuh
// What did not help
//           6  kernel 3 with Welford's one pass for mean and variance
// Launchers layernorm_forward_f32, _f16, _bf16, declared in common/ops/layernorm_forward/contract.h
#include "common/cuda_check.h"
#include "common/ops/layernorm_forward/contract.h"
#include "layernorm_vec.cuh"
#include "reduce.cuh"
#include "speed_of_light/layernorm_forward.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>
#include <math.h>

enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };
enum { block_vecs = 4, most_threads = 1024 }; // block per row: vecs of a thread; threads of a block, at most

// out may be x, so these two are not __restrict__. Every element is read for the last time before it is written, by
// the thread that writes it.

template <class T>
__global__ void layernorm_forward_kernel1(T *out,                       // (N, C)
                                          float *__restrict__ mean,     // (N)
                                          float *__restrict__ rstd,     // (N)
                                          const T *x,                   // (N, C)
                                          const T *__restrict__ weight, // (C)
                                          const T *__restrict__ bias,   // (C)
                                          int N, int C, float eps) {
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *x_row = x + (size_t)n * C; // (C)
    T *out_row = out + (size_t)n * C;   // (C)

    float sum = 0.0f;
    for (int c = lane; c < C; c += warp_size) { sum += to_float(x_row[c]); }
    float row_mean = warp_sum(sum) / C;

    float squares = 0.0f;
    for (int c = lane; c < C; c += warp_size) {
        float distance = to_float(x_row[c]) - row_mean;
        squares += distance * distance;
    }
    float row_rstd = rsqrtf(warp_sum(squares) / C + eps);

    for (int c = lane; c < C; c += warp_size) {
        out_row[c] =
            from_float<T>((to_float(x_row[c]) - row_mean) * row_rstd * to_float(weight[c]) + to_float(bias[c]));
    }
    if (lane == 0) {
        mean[n] = row_mean;
        rstd[n] = row_rstd;
    }
}

// aligned: every row of every tensor begins at a multiple of 16 bytes and ends with a whole vec.
template <class T>
__global__ void layernorm_forward_kernel2(T *out,                       // (N, C)
                                          float *__restrict__ mean,     // (N)
                                          float *__restrict__ rstd,     // (N)
                                          const T *x,                   // (N, C)
                                          const T *__restrict__ weight, // (C)
                                          const T *__restrict__ bias,   // (C)
                                          int N, int C, float eps, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *x_row = x + (size_t)n * C; // (C)
    T *out_row = out + (size_t)n * C;   // (C)

    float sum = 0.0f;
    for (int c = lane * size; c < C; c += step) { sum += vec_sum(vec_load(x_row + c, C - c, aligned)); }
    float row_mean = warp_sum(sum) / C;

    float squares = 0.0f;
    for (int c = lane * size; c < C; c += step) {
        squares += vec_squares(vec_load(x_row + c, C - c, aligned), row_mean, C - c);
    }
    float row_rstd = rsqrtf(warp_sum(squares) / C + eps);

    for (int c = lane * size; c < C; c += step) {
        vec<T> w = vec_load(weight + c, C - c, aligned), b = vec_load(bias + c, C - c, aligned);
        vec<T> result = vec_normalise(vec_load(x_row + c, C - c, aligned), row_mean, row_rstd, w, b);
        vec_store(out_row + c, result, C - c, aligned);
    }
    if (lane == 0) {
        mean[n] = row_mean;
        rstd[n] = row_rstd;
    }
}

// VECS: of a row, in one lane. The loops over them are unrolled, since registers cannot be indexed.
template <class T, int VECS>
__global__ void layernorm_forward_kernel3(T *out,                       // (N, C)
                                          float *__restrict__ mean,     // (N)
                                          float *__restrict__ rstd,     // (N)
                                          const T *x,                   // (N, C)
                                          const T *__restrict__ weight, // (C)
                                          const T *__restrict__ bias,   // (C)
                                          int N, int C, float eps, bool aligned) {
    constexpr int size = vec<T>::size, step = warp_size * size;
    int lane = threadIdx.x % warp_size, first = lane * size;
    int n = blockIdx.x * warps_per_block + threadIdx.x / warp_size;
    if (n >= N) { return; }
    const T *x_row = x + (size_t)n * C; // (C)
    T *out_row = out + (size_t)n * C;   // (C)

    vec<T> row[VECS];
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int c = first + k * step;
        if (c < C) { row[k] = vec_load(x_row + c, C - c, aligned); }
    }

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (first + k * step < C) { sum += vec_sum(row[k]); }
    }
    float row_mean = warp_sum(sum) / C;

    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (first + k * step < C) { squares += vec_squares(row[k], row_mean, C - first - k * step); }
    }
    float row_rstd = rsqrtf(warp_sum(squares) / C + eps);

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

template <class T>
__global__ void layernorm_forward_kernel4(T *out,                       // (N, C)
                                          float *__restrict__ mean,     // (N)
                                          float *__restrict__ rstd,     // (N)
                                          const T *x,                   // (N, C)
                                          const T *__restrict__ weight, // (C)
                                          const T *__restrict__ bias,   // (C)
                                          int C, float eps, bool aligned) {
    constexpr int size = vec<T>::size;
    __shared__ float shared[warp_size];
    int first = threadIdx.x * size, step = blockDim.x * size;
    size_t n = blockIdx.x;
    const T *x_row = x + n * C; // (C)
    T *out_row = out + n * C;   // (C)

    vec<T> row[block_vecs];
#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        int c = first + k * step;
        if (c < C) { row[k] = vec_load(x_row + c, C - c, aligned); }
    }

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        if (first + k * step < C) { sum += vec_sum(row[k]); }
    }
    float row_mean = block_sum(sum, shared) / C;

    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        if (first + k * step < C) { squares += vec_squares(row[k], row_mean, C - first - k * step); }
    }
    float row_rstd = rsqrtf(block_sum(squares, shared) / C + eps);

#pragma unroll
    for (int k = 0; k < block_vecs; k++) {
        int c = first + k * step;
        if (c >= C) { continue; }
        vec<T> w = vec_load(weight + c, C - c, aligned), b = vec_load(bias + c, C - c, aligned);
        vec_store(out_row + c, vec_normalise(row[k], row_mean, row_rstd, w, b), C - c, aligned);
    }
    if (threadIdx.x == 0) {
        mean[n] = row_mean;
        rstd[n] = row_rstd;
    }
}

// ---- what did not help ----

// Welford's one pass in place of two. It pays where a pass reads memory; here the passes are over registers and cost next to
// nothing, while each step waits for a division of the step before.

// Of a part of a row: the number of elements, their mean, the sum of their squared distances from it.
struct moments {
    float count, mean, squares;
};

__device__ inline moments moments_merge(moments a, moments b) {
    float count = a.count + b.count;
    if (count == 0.0f) { return a; }
    float distance = b.mean - a.mean, fraction = b.count / count;
    return {count, a.mean + distance * fraction, a.squares + b.squares + distance * distance * a.count * fraction};
}

template <class T, int VECS>
__global__ void layernorm_forward_kernel6(T *out,                       // (N, C)
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

// ---- launchers ----

// A row that is too long for the registers of a kernel goes to kernel 2.
template <class T>
static int launch_rung(int rung, T *out, float *mean, float *rstd, const T *x, const T *weight, const T *bias, int N,
                       int C, float eps, cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {out, mean, rstd, x, weight, bias}));
    if (rung < 0 || rung > 6) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (rung == 0 || rung == 5) {
        return layernorm_forward_launch<T, residual_at::nowhere>(
            {out, nullptr, mean, rstd, x, nullptr, weight, bias, N, C, eps}, stream);
    }
    bool aligned = rows_aligned<T>(C, {out, x, weight, bias});
    int vecs = (C + vec<T>::size - 1) / vec<T>::size, lane_vecs = (vecs + warp_size - 1) / warp_size;
    int warp_blocks = (N + warps_per_block - 1) / warps_per_block; // a warp per row
    int threads = ((vecs + block_vecs - 1) / block_vecs + warp_size - 1) / warp_size * warp_size;
    if (rung == 1) {
        layernorm_forward_kernel1<<<warp_blocks, threads_per_block, 0, stream>>>(out, mean, rstd, x, weight, bias, N, C,
                                                                                 eps);
    } else if (rung == 4 && threads <= most_threads) {
        layernorm_forward_kernel4<<<N, threads, 0, stream>>>(out, mean, rstd, x, weight, bias, C, eps, aligned);
    } else {
        auto kernel = layernorm_forward_kernel2<T>;
        if (rung == 3) {
            kernel = lane_vecs <= 2    ? layernorm_forward_kernel3<T, 2>
                     : lane_vecs <= 4  ? layernorm_forward_kernel3<T, 4>
                     : lane_vecs <= 8  ? layernorm_forward_kernel3<T, 8>
                     : lane_vecs <= 10 ? layernorm_forward_kernel3<T, 10>
                                       : kernel;
        } else if (rung == 6) {
            kernel = lane_vecs <= 4    ? layernorm_forward_kernel6<T, 4>
                     : lane_vecs <= 8  ? layernorm_forward_kernel6<T, 8>
                     : lane_vecs <= 10 ? layernorm_forward_kernel6<T, 10>
                                       : kernel;
        }
        kernel<<<warp_blocks, threads_per_block, 0, stream>>>(out, mean, rstd, x, weight, bias, N, C, eps, aligned);
    }
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHERS(name, T)                                                                                             \
    int name(T *out, float *mean, float *rstd, const T *x, const T *weight, const T *bias, int N, int C, float eps,    \
             cudaStream_t stream) {                                                                                    \
        return launch_rung(0, out, mean, rstd, x, weight, bias, N, C, eps, stream);                                    \
    }                                                                                                                  \
    extern "C" int name##_rung(int rung, T *out, float *mean, float *rstd, const T *x, const T *weight, const T *bias, \
                               int N, int C, float eps, cudaStream_t stream) {                                         \
        return launch_rung(rung, out, mean, rstd, x, weight, bias, N, C, eps, stream);                                 \
    }
LAUNCHERS(layernorm_forward_f32, float)
LAUNCHERS(layernorm_forward_f16, __half)
LAUNCHERS(layernorm_forward_bf16, __nv_bfloat16)
//:end
