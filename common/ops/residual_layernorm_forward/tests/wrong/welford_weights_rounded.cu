// step: step3  op: residual_layernorm_forward_bf16  diagnosis: warp-tail
// reason: Welford with weights rounded to 16 bits: they are exact only where all lanes have the same number of elements.
#include "ops/residual_layernorm_forward/contract.h"
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void k(__nv_bfloat16 *out, __nv_bfloat16 *sum, float *mean, float *rstd, const __nv_bfloat16 *x,
                  const __nv_bfloat16 *residual, const __nv_bfloat16 *weight, const __nv_bfloat16 *bias, int N, int C,
                  float eps) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) return;
    size_t row = (size_t)n * C;
    float m = 0, q = 0;
    int count = 0;
    for (int c = lane; c < C; c += 32) {
        count++;
        sum[row + c] = (__nv_bfloat16)((float)x[row + c] + (float)residual[row + c]);
        float d = (float)sum[row + c] - m;
        m += d / count;
        q += d * ((float)sum[row + c] - m);
    }
    for (int o = 16; o; o >>= 1) {
        float m2 = __shfl_xor_sync(~0u, m, o), q2 = __shfl_xor_sync(~0u, q, o), d = m2 - m;
        int count2 = __shfl_xor_sync(~0u, count, o), both = count + count2;
        if (both == 0) continue;
        float share = __bfloat162float(__float2bfloat16((float)count2 / both));
        q += q2 + d * d * count * share;
        m += d * share;
        count = both;
    }
    float r = rsqrtf(q / C + eps);
    for (int c = lane; c < C; c += 32)
        out[row + c] = (__nv_bfloat16)(((float)sum[row + c] - m) * r * (float)weight[c] + (float)bias[c]);
    if (lane == 0) {
        mean[n] = m;
        rstd[n] = r;
    }
}

int residual_layernorm_forward_bf16(__nv_bfloat16 *out, __nv_bfloat16 *sum, float *mean, float *rstd,
                                    const __nv_bfloat16 *x, const __nv_bfloat16 *residual, const __nv_bfloat16 *weight,
                                    const __nv_bfloat16 *bias, int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) return cudaSuccess;
    k<<<(N + 3) / 4, 128, 0, stream>>>(out, sum, mean, rstd, x, residual, weight, bias, N, C, eps);
    return cudaGetLastError();
}
