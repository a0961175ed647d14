// step: step3  op: residual_layernorm_backward_f32  diagnosis: only-in-place
// reason: The column sums come after dinp was written, which may be dout.
#include "ops/residual_layernorm_backward/contract.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__device__ float wsum(float v) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}

__global__ void rows(float *dinp, const float *dout, const float *dsum, const float *sum, const float *weight,
                     const float *mean, const float *rstd, int N, int C) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) return;
    size_t row = (size_t)n * C;
    float a = 0, b = 0, m = mean[n], r = rstd[n];
    for (int c = lane; c < C; c += 32) {
        float g = (float)dout[row + c] * (float)weight[c];
        a += g;
        b += g * ((float)sum[row + c] - m) * r;
    }
    a = wsum(a) / C;
    b = wsum(b) / C;
    for (int c = lane; c < C; c += 32) {
        float g = (float)dout[row + c] * (float)weight[c], h = ((float)sum[row + c] - m) * r;
        dinp[row + c] = (float)((float)dsum[row + c] + r * (g - a - h * b));
    }
}
__global__ void columns(float *dweight, float *dbias, const float *dout, const float *sum, const float *mean,
                        const float *rstd, int N, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) return;
    float w = 0, b = 0;
    for (int n = 0; n < N; n++) {
        float d = dout[(size_t)n * C + c];
        w += d * ((float)sum[(size_t)n * C + c] - mean[n]) * rstd[n];
        b += d;
    }
    dweight[c] += w;
    dbias[c] += b;
}

int residual_layernorm_backward_f32(float *dinp, float *dweight, float *dbias, const float *dout, const float *dsum,
                                    const float *sum, const float *weight, const float *mean, const float *rstd, int N,
                                    int C, cudaStream_t stream) {
    if (N == 0) return cudaSuccess;
    rows<<<(N + 3) / 4, 128, 0, stream>>>(dinp, dout, dsum, sum, weight, mean, rstd, N, C);
    columns<<<(C + 127) / 128, 128, 0, stream>>>(dweight, dbias, dout, sum, mean, rstd, N, C);
    return cudaGetLastError();
}
