// step: step2  op: bias_add_f32  diagnosis: out-of-bounds
// reason: The row is i * (1.0f / C), rounded down: one too small for some C, so that the column is C.
#include "common/cuda_check.h"
#include "common/ops/bias_add/contract.h"
#include "common/ops/row_dot/contract.h"
#include "common/ops/row_sum/contract.h"
#include "common/ops/row_sum_squares/contract.h"
#include <cuda_runtime.h>

__device__ __forceinline__ float warp_total(float v) {
    for (int o = 16; o > 0; o >>= 1) { v += __shfl_xor_sync(0xffffffffu, v, o); }
    return v;
}

__global__ void row_sum_warps(float *out, const float *x, int N, int C) {
    int n = (int)(((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = threadIdx.x & 31;
    if (n >= N) { return; }
    float s = 0.0f;
    for (int c = lane; c < C; c += 32) { s += x[(size_t)n * C + c]; }
    s = warp_total(s);
    if (lane == 0) { out[n] = s; }
}

int row_sum_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    row_sum_warps<<<(N - 1) / 4 + 1, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

__global__ void row_sum_squares_warps(float *out, const float *x, int N, int C) {
    int n = (int)(((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = threadIdx.x & 31;
    if (n >= N) { return; }
    float s = 0.0f;
    for (int c = lane; c < C; c += 32) { float v = x[(size_t)n * C + c]; s += v * v; }
    s = warp_total(s);
    if (lane == 0) { out[n] = s; }
}

int row_sum_squares_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    row_sum_squares_warps<<<(N - 1) / 4 + 1, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

__global__ void row_dot_warps(float *out, const float *x, const float *weight, int N, int C) {
    int n = (int)(((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = threadIdx.x & 31;
    if (n >= N) { return; }
    float s = 0.0f;
    for (int c = lane; c < C; c += 32) { s += x[(size_t)n * C + c] * weight[c]; }
    s = warp_total(s);
    if (lane == 0) { out[n] = s; }
}

int row_dot_f32(float *out, const float *x, const float *weight, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    row_dot_warps<<<(N - 1) / 4 + 1, 128, 0, stream>>>(out, x, weight, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

// i = row * C + column; the product may be rounded up at the end of a row, which is corrected
__device__ inline long column_of(size_t i, int C, float inverse) {
    long row = (long)((float)i * inverse);
    long column = (long)i - row * C;
    if (column < 0) { column += C; }
    return column;
}

__global__ void bias_add_stride(float *out, const float *x, const float *bias, size_t count, int C) {
    float inverse = 1.0f / (float)C;
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        out[i] = x[i] + bias[column_of(i, C, inverse)];
    }
}

int bias_add_f32(float *out, const float *x, const float *bias, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    size_t blocks = (count - 1) / 256 + 1;
    bias_add_stride<<<(unsigned)(blocks < 2048 ? blocks : 2048), 256, 0, stream>>>(out, x, bias, count, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
