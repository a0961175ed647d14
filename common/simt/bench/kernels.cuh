// kernels.cuh — the kernels of the backend's benchmark: (N, C) matrices of float, from one thread per row to one block per
// row.
#pragma once
#include <cuda_runtime.h>

constexpr int TILE = 16;

#define ROW_OF_THREAD int row = (int)(blockIdx.x * blockDim.x + threadIdx.x)

__global__ void sum_thread_per_row(float *out, const float *in, int N, int C) {
    ROW_OF_THREAD;
    if (row >= N) return;
    float sum = 0;
    for (int i = 0; i < C; i++) sum += in[(size_t)row * C + i];
    out[row] = sum;
}

__global__ void copy_thread_per_row(float *out, const float *in, int N, int C) {
    ROW_OF_THREAD;
    if (row >= N) return;
    for (int i = 0; i < C; i++) out[(size_t)row * C + i] = in[(size_t)row * C + i];
}

__global__ void softmax_thread_per_row(float *out, const float *in, int N, int C) {
    ROW_OF_THREAD;
    if (row >= N) return;
    const float *x = in + (size_t)row * C;
    float *y = out + (size_t)row * C;
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < C; i++) most = fmaxf(most, x[i]);
    for (int i = 0; i < C; i++) sum += expf(x[i] - most);
    for (int i = 0; i < C; i++) y[i] = expf(x[i] - most) / sum;
}

__global__ void copy_coalesced(float *out, const float *in, int N, int C) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (size_t)N * C; i += gridDim.x * blockDim.x)
        out[i] = in[i];
}

__global__ void copy_float4(float *out, const float *in, int N, int C) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (size_t)N * C / 4; i += gridDim.x * blockDim.x)
        ((float4 *)out)[i] = ((const float4 *)in)[i];
}

__device__ inline float warp_sum(float x) {
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffff, x, d);
    return x;
}
__device__ inline float warp_max(float x) {
    for (int d = 16; d; d /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, d));
    return x;
}

__global__ void softmax_block_per_row(float *out, const float *in, int, int C) {
    __shared__ float part[32];
    const float *x = in + (size_t)blockIdx.x * C;
    float *y = out + (size_t)blockIdx.x * C;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float most = -INFINITY;
    for (int i = threadIdx.x; i < C; i += blockDim.x) most = fmaxf(most, x[i]);
    most = warp_max(most);
    if (lane == 0) part[warp] = most;
    __syncthreads();
    most = warp_max(lane < warps ? part[lane] : -INFINITY);
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        float e = expf(x[i] - most);
        y[i] = e;
        sum += e;
    }
    sum = warp_sum(sum);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    sum = warp_sum(lane < warps ? part[lane] : 0);
    for (int i = threadIdx.x; i < C; i += blockDim.x) y[i] /= sum;
}

__global__ void softmax_warp_per_row(float *out, const float *in, int N, int C) {
    int row = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= N) return;
    const float *x = in + (size_t)row * C;
    float *y = out + (size_t)row * C;
    float most = -INFINITY, sum = 0;
    for (int i = lane; i < C; i += 32) most = fmaxf(most, x[i]);
    most = warp_max(most);
    for (int i = lane; i < C; i += 32) sum += expf(x[i] - most);
    sum = warp_sum(sum);
    for (int i = lane; i < C; i += 32) y[i] = expf(x[i] - most) / sum;
}

__global__ void transpose_tiles(float *out, const float *in, int N, int C) {
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int y = 0; y < 32; y += 8) tile[threadIdx.y + y][threadIdx.x] = in[(size_t)(row + y) * C + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int y = 0; y < 32; y += 8) out[(size_t)(row + y) * N + column] = tile[threadIdx.x][threadIdx.y + y];
}

__global__ void matmul_tiles(float *out, const float *in, int N, int C) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < C; k += TILE) {
        a[threadIdx.y][threadIdx.x] = in[(size_t)row * C + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = in[(size_t)(k + threadIdx.y) % N * C + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    out[(size_t)row * C + column] = sum;
}

__global__ void histogram(float *out, const float *in, int N, int C) {
    __shared__ int bins[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (size_t)N * C; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[(int)(in[i] * 97) & 255], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&out[i], (float)bins[i]);
}
