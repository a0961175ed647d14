// step: step2  op: layernorm_backward  diagnosis: backward-weighted-dweight
// reason: dweight sums the weighted gradient in place of dout.
#include "ops/layernorm_backward/contract.h"
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

__global__ void kernel(float *dinp, float *dweight, float *dbias, const float *dout, const float *x,
                       const float *weight, const float *mean, const float *rstd, int N, int C) {
    int lane = threadIdx.x % 32, n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (n >= N) { return; }
    const float *dout_row = dout + (size_t)n * C, *x_row = x + (size_t)n * C;
    float *dinp_row = dinp + (size_t)n * C;
    float a = 0.0f, b = 0.0f;
    for (int c = lane; c < C; c += 32) {
        float g = dout_row[c] * weight[c], xhat = (x_row[c] - mean[n]) * rstd[n];
        a += g;
        b += g * xhat;
    }
    a = warp_sum(a) / C, b = warp_sum(b) / C;
    for (int c = lane; c < C; c += 32) {
        float g = dout_row[c] * weight[c], xhat = (x_row[c] - mean[n]) * rstd[n];
        atomicAdd(&dweight[c], g * xhat);
        atomicAdd(&dbias[c], dout_row[c]);
        dinp_row[c] = rstd[n] * (g - a - xhat * b);
    }
}

int layernorm_backward_f32(float *dinp, float *dweight, float *dbias, const float *dout, const float *x,
                           const float *weight, const float *mean, const float *rstd, int N, int C,
                           cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(dinp, dweight, dbias, dout, x, weight, mean, rstd, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
