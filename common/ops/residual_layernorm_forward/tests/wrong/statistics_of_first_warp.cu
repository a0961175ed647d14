// step: step3  op: residual_layernorm_forward_f32  diagnosis: statistics-not-written
// reason: Thread 0 of a block writes mean and rstd: those of three warps of four are not written.
#include "ops/residual_layernorm_forward/contract.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__device__ float wsum(float v) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}

__global__ void k(float *out, float *sum, float *mean, float *rstd, const float *x, const float *residual,
                  const float *weight, const float *bias, int N, int C, float eps) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) return;
    size_t row = (size_t)n * C;
    float s = 0, v = 0;
    for (int c = lane; c < C; c += 32) {
        sum[row + c] = (float)((float)x[row + c] + (float)residual[row + c]);
        s += (float)sum[row + c];
    }
    float m = wsum(s) / C;
    for (int c = lane; c < C; c += 32) {
        float d = (float)sum[row + c] - m;
        v += d * d;
    }
    float r = rsqrtf(wsum(v) / C + eps);
    for (int c = lane; c < C; c += 32)
        out[row + c] = (float)(((float)sum[row + c] - m) * r * (float)weight[c] + (float)bias[c]);
    if (threadIdx.x == 0) {
        mean[n] = m;
        rstd[n] = r;
    }
}

int residual_layernorm_forward_f32(float *out, float *sum, float *mean, float *rstd, const float *x,
                                   const float *residual, const float *weight, const float *bias, int N, int C,
                                   float eps, cudaStream_t stream) {
    if (N == 0) return cudaSuccess;
    k<<<(N + 3) / 4, 128, 0, stream>>>(out, sum, mean, rstd, x, residual, weight, bias, N, C, eps);
    return cudaGetLastError();
}
