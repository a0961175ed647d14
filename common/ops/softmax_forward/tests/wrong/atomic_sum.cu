// step: step2  op: softmax_forward  diagnosis: not-repeatable
// reason: The block's sum by float atomics: their order changes from run to run.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__device__ float warp_max(float v) {
    for (int o = 16; o > 0; o /= 2) { v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o)); }
    return v;
}
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o /= 2) { v += __shfl_xor_sync(0xffffffffu, v, o); }
    return v;
}

__device__ float block_sum(float v, float *shared) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0) { shared[warp] = v; }
    __syncthreads();
    v = warp_sum(lane < blockDim.x / 32 ? shared[lane] : 0.0f);
    __syncthreads();
    return v;
}
__device__ float block_max(float v, float *shared) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_max(v);
    if (lane == 0) { shared[warp] = v; }
    __syncthreads();
    v = warp_max(lane < blockDim.x / 32 ? shared[lane] : -INFINITY);
    __syncthreads();
    return v;
}

__global__ void kernel(float *out, const float *x, int N, int C) {
    int n = blockIdx.x;
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    __shared__ float shared[32], total;
    if (threadIdx.x == 0) { total = 0.0f; }
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { largest = fmaxf(largest, x_row[c]); }
    largest = block_max(largest, shared);
    for (int c = threadIdx.x; c < C; c += blockDim.x) { sum += expf(x_row[c] - largest); }
    atomicAdd(&total, sum);
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += blockDim.x) { out_row[c] = expf(x_row[c] - largest) / total; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<N, 256, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
