// step: step2  op: layernorm_backward  diagnosis: backward-no-mean-terms
// reason: Treats mean and rstd as constants: both mean terms of dinp are missing.
#include "ops/layernorm_backward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *dinp, float *dweight, float *dbias, const float *dout, const float *x,
                       const float *weight, const float *mean, const float *rstd, int N, int C) {
    int lane = threadIdx.x % 32;
    int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (n >= N) { return; }
    const float *dout_row = dout + (size_t)n * C, *x_row = x + (size_t)n * C;
    float *dinp_row = dinp + (size_t)n * C;
    for (int c = lane; c < C; c += 32) {
        float d = dout_row[c], xhat = (x_row[c] - mean[n]) * rstd[n];
        atomicAdd(&dweight[c], d * xhat);
        atomicAdd(&dbias[c], d);
        dinp_row[c] = rstd[n] * d * weight[c];
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
