//:swap
// bugs.cu — four small kernels, repaired (lab 2, find the planted bugs)
//
// Purpose   Sums and additions that a transformer needs, each written as such kernels often are.
//:stub
//: // bugs.cu — four small kernels with one bug each: find it with the checker, and repair it (lab 2)
//: //
//: // Purpose   Sums and additions that a transformer needs, each written as such kernels often are.
//: //           All of them compile, and most give the right result most of the time on most GPUs. All are
//: //           wrong. Run ./grader step2 --kernel row_sum (then row_sum_squares, row_dot, bias_add): the checker of
//: //           the CPU backend names the line. Say in one sentence why it is wrong before you change it; a repair
//: //           takes one or two lines. Do not rewrite the kernels.
//:end
// Math      row_sum          out[n] = sum_c x[n][c]                         x: (N, C); out: (N); fp32
//           row_sum_squares  out[n] = sum_c x[n][c]^2                       x: (N, C); out: (N)
//           row_dot          out[n] = sum_c x[n][c] * weight[c]             x: (N, C); weight: (C); out: (N)
//           bias_add         out[n][c] = x[n][c] + bias[c]                  x, out: (N, C); bias: (C)
// Bytes     the three sums read x once: 4 N C; 8192 x 768: 25.2 MB, 5.2 us on an H200 (4.8 TB/s).
//           bias_add reads and writes: 8 N C; 50.3 MB, 10.5 us.
// Kernels   one for each op
// Launchers row_sum_f32, row_sum_squares_f32, row_dot_f32, bias_add_f32, declared in common/ops/NAME/contract.h
#include "common/cuda_check.h"
#include "common/ops/bias_add/contract.h"
#include "common/ops/row_dot/contract.h"
#include "common/ops/row_sum/contract.h"
#include "common/ops/row_sum_squares/contract.h"

#include <cuda_runtime.h>

constexpr int warp_size = 32;
enum { threads_per_block = 128, warps_per_block = threads_per_block / warp_size };

// One block per row; a tree in shared memory adds the sums of the threads.
__global__ void row_sum_kernel(float *__restrict__ out,     // (N)
                               const float *__restrict__ x, // (N, C)
                               int C) {
    __shared__ float shared[threads_per_block];
    int t = threadIdx.x;
    const float *x_row = x + (size_t)blockIdx.x * C; // (C)

    float sum = 0.0f;
    for (int c = t; c < C; c += threads_per_block) { sum += x_row[c]; }
    shared[t] = sum;
    //:swap
    __syncthreads();
    //:end
    for (int stride = threads_per_block / 2; stride > 0; stride /= 2) {
        if (t < stride) { shared[t] += shared[t + stride]; }
        __syncthreads();
    }
    if (t == 0) { out[blockIdx.x] = shared[0]; }
}

// At most 256 blocks; each takes every gridDim.x-th row.
__global__ void row_sum_squares_kernel(float *__restrict__ out,     // (N)
                                       const float *__restrict__ x, // (N, C)
                                       int N, int C) {
    __shared__ float shared[threads_per_block];
    int t = threadIdx.x;
    for (int n = blockIdx.x; n < N; n += gridDim.x) {
        const float *x_row = x + (size_t)n * C; // (C)
        float sum = 0.0f;
        for (int c = t; c < C; c += threads_per_block) { sum += x_row[c] * x_row[c]; }
        shared[t] = sum;
        __syncthreads();
        for (int stride = threads_per_block / 2; stride > 0; stride /= 2) {
            //:swap
            if (t < stride) { shared[t] += shared[t + stride]; }
            __syncthreads();
            //:stub
            //: if (t < stride) {
            //:     shared[t] += shared[t + stride];
            //:     __syncthreads();
            //: }
            //:end
        }
        if (t == 0) { out[n] = shared[0]; }
        __syncthreads(); // the next row may now use shared
    }
}

// One warp per row. Each warp adds the sums of its lanes in its own part of shared memory: no block barrier needed.
__global__ void row_dot_kernel(float *__restrict__ out,          // (N)
                               const float *__restrict__ x,      // (N, C)
                               const float *__restrict__ weight, // (C)
                               int N, int C) {
    __shared__ float shared[warps_per_block][warp_size];
    int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    int n = blockIdx.x * warps_per_block + warp;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C; // (C)

    float sum = 0.0f;
    for (int c = lane; c < C; c += warp_size) { sum += x_row[c] * weight[c]; }
    shared[warp][lane] = sum;
    __syncwarp();
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        if (lane < offset) { shared[warp][lane] += shared[warp][lane + offset]; }
        //:swap
        __syncwarp();
        //:end
    }
    if (lane == 0) { out[n] = shared[warp][0]; }
}

// One thread takes four neighbouring elements.
__global__ void bias_add_kernel(float *out,                     // (N, C)
                                const float *x,                 // (N, C); out may be x
                                const float *__restrict__ bias, // (C)
                                size_t count, int C) {          // N * C
    size_t first = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (first >= count) { return; }
    //:swap
    for (size_t i = first; i < first + 4 && i < count; i++) { out[i] = x[i] + bias[i % C]; }
    //:stub
    //: for (size_t i = first; i < first + 4; i++) { out[i] = x[i] + bias[i % C]; }
    //:end
}

int row_sum_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    row_sum_kernel<<<N, threads_per_block, 0, stream>>>(out, x, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

int row_sum_squares_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    int blocks = N < 256 ? N : 256;
    row_sum_squares_kernel<<<blocks, threads_per_block, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

int row_dot_f32(float *out, const float *x, const float *weight, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    int blocks = (N + warps_per_block - 1) / warps_per_block;
    row_dot_kernel<<<blocks, threads_per_block, 0, stream>>>(out, x, weight, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

int bias_add_f32(float *out, const float *x, const float *bias, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    size_t per_block = (size_t)threads_per_block * 4, blocks = (count + per_block - 1) / per_block;
    bias_add_kernel<<<(unsigned)blocks, threads_per_block, 0, stream>>>(out, x, bias, count, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
