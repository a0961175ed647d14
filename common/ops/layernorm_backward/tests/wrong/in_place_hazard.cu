// step: step2  op: layernorm_backward  diagnosis: only-in-place
// reason: Writes dinp first and sums the columns of dout afterwards, when dinp may have overwritten dout.
#include "common/cuda_check.h"
#include "ops/layernorm_backward/contract.h"

#include <cuda_runtime.h>
#include <math.h>

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) { value += __shfl_xor_sync(0xffffffffu, value, offset); }
    return value;
}

__global__ void rows(float *dinp, const float *dout, const float *x, const float *weight, const float *mean,
                     const float *rstd, int N, int C) {
    int lane = threadIdx.x % 32;
    int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (n >= N) { return; }
    const float *dout_row = dout + (size_t)n * C, *x_row = x + (size_t)n * C;
    float *dinp_row = dinp + (size_t)n * C;
    float g_sum = 0.0f, g_xhat_sum = 0.0f;
    for (int c = lane; c < C; c += 32) {
        float g = dout_row[c] * weight[c];
        g_sum += g;
        g_xhat_sum += g * ((x_row[c] - mean[n]) * rstd[n]);
    }
    float g_mean = warp_sum(g_sum) / C, g_xhat_mean = warp_sum(g_xhat_sum) / C;
    for (int c = lane; c < C; c += 32) {
        float d = dout_row[c], xhat = (x_row[c] - mean[n]) * rstd[n];
        dinp_row[c] = rstd[n] * (d * weight[c] - g_mean - xhat * g_xhat_mean);
    }
}

__global__ void columns(float *dweight, float *dbias, const float *dout, const float *x, const float *mean,
                        const float *rstd, int N, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    float weight_sum = 0.0f, bias_sum = 0.0f;
    for (int n = 0; n < N; n++) {
        float d = dout[(size_t)n * C + c];
        weight_sum += d * (x[(size_t)n * C + c] - mean[n]) * rstd[n];
        bias_sum += d;
    }
    dweight[c] += weight_sum;
    dbias[c] += bias_sum;
}

int layernorm_backward_f32(float *dinp, float *dweight, float *dbias, const float *dout, const float *x,
                           const float *weight, const float *mean, const float *rstd, int N, int C,
                           cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    rows<<<(N + 3) / 4, 128, 0, stream>>>(dinp, dout, x, weight, mean, rstd, N, C);
    columns<<<(C + 127) / 128, 128, 0, stream>>>(dweight, dbias, dout, x, mean, rstd, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
