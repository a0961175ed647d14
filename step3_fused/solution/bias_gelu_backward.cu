//:omit
// bias_gelu_backward.cu — the gradients of bias and GELU (lab 3, to read)
//
// Purpose   Training needs the gradients of x and of bias. The second is the sum of the first down the columns.
// Math      u = x[n][c] + bias[c]      dx[n][c] = dout[n][c] gelu'(u)      dbias[c] += sum_n dout[n][c] gelu'(u)
//           dx, dout, x: (N, C); bias, dbias: (C), dbias in fp32. For gelu' see speed_of_light/gelu.cuh
// Bytes     floor: read dout and x, write dx: 3 s N C, where an element has s bytes. 8192 x 3072: 302 MB in fp32, 151 MB in
//           bf16: 62.9 and 31.5 us on an H200 (4.8 TB/s). Kernel 1 requests 5 s N C, kernel 2 3 s N C, and 8 P C for
//           the partial sums of P parts.
// Kernels   1  two directions, two kernels: dx along the rows, dbias down the columns; all of it is computed twice
//           2  one pass: a warp walks down its columns and keeps their sums in registers; a second kernel adds the parts.
//              No atomics: the sums have one order, so every run gives the same bits
//           3  speed of light: 16 bytes at a time, the next rows in flight: see speed_of_light/bias_gelu_backward.cuh
// Launchers bias_gelu_backward_f32, _f16, _bf16, declared in common/ops/bias_gelu_backward/contract.h
#include "common/cuda_check.h"
#include "common/ops/bias_gelu_backward/contract.h"
#include "reduce.cuh"
#include "speed_of_light/bias_gelu_backward.cuh"
#include "vec.cuh"

#include <cuda_runtime.h>
#include <limits.h>

enum { threads_per_block = 256, rows_per_block = threads_per_block / warp_size, most_parts = 64 };

// dx may be dout, so these two are not __restrict__. Every element is read before it is written, by the same thread. Where
// two kernels need dout, the one that does not write dx comes first.

template <class T>
__global__ void bias_gelu_backward_kernel1_rows(T *dx,                      // (N, C)
                                                const T *dout,              // (N, C)
                                                const T *__restrict__ x,    // (N, C)
                                                const T *__restrict__ bias, // (C)
                                                size_t count, int C) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    dx[i] = from_float<T>(to_float(dout[i]) * gelu_slope<T>(to_float(x[i]) + to_float(bias[i % C])));
}

// Stage 1: a block takes 32 neighbouring columns and every gridDim.y-th group of rows_per_block rows; a warp is one row of
// the block. The sums of the block's warps are added in shared memory. write: dx is written too.
template <class T, bool write>
__global__ void bias_gelu_backward_kernel2(T *dx,                       // (N, C)
                                           float *__restrict__ partial, // (parts, C), parts = gridDim.y
                                           const T *dout,               // (N, C)
                                           const T *__restrict__ x,     // (N, C)
                                           const T *__restrict__ bias,  // (C)
                                           int N, int C) {
    __shared__ float shared[rows_per_block][warp_size];
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, c = blockIdx.x * warp_size + lane;
    float sum = 0.0f;
    if (c < C) {
        float b = to_float(bias[c]);
        for (int n = blockIdx.y * rows_per_block + warp; n < N; n += gridDim.y * rows_per_block) {
            size_t i = (size_t)n * C + c;
            float d = to_float(dout[i]) * gelu_slope<T>(to_float(x[i]) + b);
            sum += d;
            if (write) { dx[i] = from_float<T>(d); }
        }
    }
    shared[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || c >= C) { return; }
    sum = 0.0f;
    for (int row = 0; row < rows_per_block; row++) { sum += shared[row][lane]; }
    partial[(size_t)blockIdx.y * C + c] = sum;
}

// Stage 2: one thread per column adds the parts in their order.
static __global__ void bias_gelu_backward_kernel2_finish(float *__restrict__ dbias,         // (C)
                                                         const float *__restrict__ partial, // (parts, C)
                                                         int parts, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    float sum = 0.0f;
    for (int part = 0; part < parts; part++) { sum += partial[(size_t)part * C + c]; }
    dbias[c] += sum;
}

template <class T>
static int launch_taught(int rung, T *dx, float *dbias, const T *dout, const T *x, const T *bias, int N, int C,
                         cudaStream_t stream) {
    size_t count = (size_t)N * C, blocks = (count - 1) / threads_per_block + 1;
    if (blocks > INT_MAX) { return cudaErrorInvalidValue; } // no grid has so many blocks
    int parts = (N - 1) / rows_per_block + 1;
    parts = parts < most_parts ? parts : most_parts;
    float *partial; // (parts, C)
    CUDA_CHECK(cudaMallocAsync((void **)&partial, (size_t)parts * C * sizeof(float), stream));
    dim3 grid((C - 1) / warp_size + 1, parts);
    auto kernel = rung == 1 ? bias_gelu_backward_kernel2<T, false> : bias_gelu_backward_kernel2<T, true>;
    kernel<<<grid, threads_per_block, 0, stream>>>(dx, partial, dout, x, bias, N, C);
    bias_gelu_backward_kernel2_finish<<<(C - 1) / threads_per_block + 1, threads_per_block, 0, stream>>>(dbias, partial,
                                                                                                         parts, C);
    if (rung == 1) {
        bias_gelu_backward_kernel1_rows<<<(unsigned)blocks, threads_per_block, 0, stream>>>(dx, dout, x, bias, count,
                                                                                            C);
    }
    cudaError_t launched = cudaGetLastError();
    CUDA_CHECK(cudaFreeAsync(partial, stream));
    return launched;
}

template <class T>
static int launch_rung(int rung, T *dx, float *dbias, const T *dout, const T *x, const T *bias, int N, int C,
                       cudaStream_t stream) {
    CUDA_CHECK(check_rows(N, C, {dx, dbias, dout, x, bias}));
    if (rung < 0 || rung > 3) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (rung == 1 || rung == 2) { return launch_taught(rung, dx, dbias, dout, x, bias, N, C, stream); }
    // Template arguments: lanes and rows of a block, rows of a thread at a time, blocks of a multiprocessor, elements of a
    // vec. 16 bits: half as many threads, each with two rows in flight.
    constexpr int rows = 4 / sizeof(T), blocks_each = sizeof(T) / 2;
    return rows_aligned<T>(C, {dx, dout, x}) && vec_aligned(bias)
               ? bias_gelu_backward_rows<T, 32, 16, rows, blocks_each, vec<T>::size>(dx, dbias, dout, x, bias, N, C,
                                                                                     stream)
               : bias_gelu_backward_rows<T, 32, 8, 4, 4, 1>(dx, dbias, dout, x, bias, N, C, stream);
}

#define LAUNCHERS(name, T)                                                                                            \
    int name(T *dx, float *dbias, const T *dout, const T *x, const T *bias, int N, int C, cudaStream_t stream) {      \
        return launch_rung(0, dx, dbias, dout, x, bias, N, C, stream);                                                \
    }                                                                                                                 \
    extern "C" int name##_rung(int rung, T *dx, float *dbias, const T *dout, const T *x, const T *bias, int N, int C, \
                               cudaStream_t stream) {                                                                 \
        return launch_rung(rung, dx, dbias, dout, x, bias, N, C, stream);                                             \
    }
LAUNCHERS(bias_gelu_backward_f32, float)
LAUNCHERS(bias_gelu_backward_f16, __half)
LAUNCHERS(bias_gelu_backward_bf16, __nv_bfloat16)
//:end
