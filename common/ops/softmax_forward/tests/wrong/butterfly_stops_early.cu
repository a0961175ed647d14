// step: step2  op: softmax_forward  diagnosis: reduction-step-missing
// reason: The exchange with offset 1 is missing: even and odd lanes hold different sums.
#include "common/cuda_check.h"
#include "ops/softmax_forward/contract.h"

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

__global__ void kernel(float *out, const float *x, int N, int C) {
    int lane = threadIdx.x % 32, n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = lane; c < C; c += 32) { largest = fmaxf(largest, x_row[c]); }
    largest = warp_max(largest);
    for (int c = lane; c < C; c += 32) { sum += expf(x_row[c] - largest); }
    for (int o = 16; o > 1; o /= 2) { sum += __shfl_xor_sync(0xffffffffu, sum, o); }
    for (int c = lane; c < C; c += 32) { out_row[c] = expf(x_row[c] - largest) / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
