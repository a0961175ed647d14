// step: step2  op: layernorm_forward
// reason: Every lane writes mean and rstd: the same value, which is no race.
#include "ops/layernorm_forward/contract.h"
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

__global__ void kernel(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                       int N, int C, float eps) {
    int lane = threadIdx.x % 32, n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float sum = 0, squares = 0;
    for (int c = lane; c < C; c += 32) { sum += x_row[c]; }
    float m = warp_sum(sum) / C;
    for (int c = lane; c < C; c += 32) { squares += (x_row[c] - m) * (x_row[c] - m); }
    float variance = warp_sum(squares) / C, r = rsqrtf(variance + eps);
    for (int c = lane; c < C; c += 32) { out_row[c] = (x_row[c] - m) * r * weight[c] + bias[c]; }
    mean[n] = m;
    rstd[n] = r;
}

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, mean, rstd, x, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
