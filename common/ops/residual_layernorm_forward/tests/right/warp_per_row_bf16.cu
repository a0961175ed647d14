// step: step3  op: residual_layernorm_forward_bf16
// reason: A warp for each row, in plain passes; wrong kernels vary it.
#include "ops/residual_layernorm_forward/contract.h"
#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

__global__ void kernel(__nv_bfloat16 *out, __nv_bfloat16 *sum, float *mean, float *rstd, const __nv_bfloat16 *x,
                       const __nv_bfloat16 *residual, const __nv_bfloat16 *weight, const __nv_bfloat16 *bias, int N,
                       int C, float eps) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) { return; }
    size_t row = (size_t)n * C;
    float total = 0.0f, squares = 0.0f;
    for (int c = lane; c < C; c += 32) {
        __nv_bfloat16 rounded = from_float<__nv_bfloat16>(to_float(x[row + c]) + to_float(residual[row + c]));
        sum[row + c] = rounded;
        total += to_float(rounded);
    }
    float m = warp_sum(total) / C;
    for (int c = lane; c < C; c += 32) {
        float distance = to_float(sum[row + c]) - m;
        squares += distance * distance;
    }
    float r = rsqrtf(warp_sum(squares) / C + eps);
    for (int c = lane; c < C; c += 32) {
        float normal = (to_float(sum[row + c]) - m) * r;
        out[row + c] = from_float<__nv_bfloat16>(normal * to_float(weight[c]) + to_float(bias[c]));
    }
    if (lane == 0) {
        mean[n] = m;
        rstd[n] = r;
    }
}

int residual_layernorm_forward_bf16(__nv_bfloat16 *out, __nv_bfloat16 *sum, float *mean, float *rstd,
                                    const __nv_bfloat16 *x, const __nv_bfloat16 *residual, const __nv_bfloat16 *weight,
                                    const __nv_bfloat16 *bias, int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, sum, mean, rstd, x, residual, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
