// step: step3  op: residual_layernorm_backward_bf16
// reason: Rows in reverse for the parameters, with fused multiply-adds.
#include "ops/residual_layernorm_backward/contract.h"
#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

__global__ void inputs(__nv_bfloat16 *dinp, const __nv_bfloat16 *dout, const __nv_bfloat16 *dsum,
                       const __nv_bfloat16 *sum, const __nv_bfloat16 *weight, const float *mean, const float *rstd,
                       int N, int C) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) { return; }
    size_t row = (size_t)n * C;
    float first = 0.0f, second = 0.0f, m = mean[n], r = rstd[n];
    for (int c = lane; c < C; c += 32) {
        float g = to_float(dout[row + c]) * to_float(weight[c]);
        first += g;
        second += g * (to_float(sum[row + c]) - m) * r;
    }
    first = warp_sum(first) / C;
    second = warp_sum(second) / C;
    for (int c = lane; c < C; c += 32) {
        float g = to_float(dout[row + c]) * to_float(weight[c]), normal = (to_float(sum[row + c]) - m) * r;
        float gradient = r * (g - first - normal * second);
        dinp[row + c] = from_float<__nv_bfloat16>(to_float(dsum[row + c]) + gradient);
    }
}

__global__ void parameters(float *dweight, float *dbias, const __nv_bfloat16 *dout, const __nv_bfloat16 *sum,
                           const float *mean, const float *rstd, int N, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    float by_weight = 0.0f, by_bias = 0.0f;
    for (int n = N - 1; n >= 0; n--) {
        float d = to_float(dout[(size_t)n * C + c]);
        by_weight = fmaf(d * rstd[n], to_float(sum[(size_t)n * C + c]) - mean[n], by_weight);
        by_bias += d;
    }
    dweight[c] += by_weight;
    dbias[c] += by_bias;
}

int residual_layernorm_backward_bf16(__nv_bfloat16 *dinp, float *dweight, float *dbias, const __nv_bfloat16 *dout,
                                     const __nv_bfloat16 *dsum, const __nv_bfloat16 *sum, const __nv_bfloat16 *weight,
                                     const float *mean, const float *rstd, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    parameters<<<(C + 31) / 32, 32, 0, stream>>>(dweight, dbias, dout, sum, mean, rstd, N, C);
    inputs<<<(N + 3) / 4, 128, 0, stream>>>(dinp, dout, dsum, sum, weight, mean, rstd, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
