// step: step3  op: residual_layernorm_forward_f32
// reason: A residual add and a LayerNorm, one after the other: not fused, and right.
#include "ops/residual_layernorm_forward/contract.h"
#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

__global__ void add(float *sum, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { sum[i] = from_float<float>(to_float(x[i]) + to_float(residual[i])); }
}

__global__ void kernel(float *out, const float *sum, float *mean, float *rstd, const float *weight, const float *bias,
                       int N, int C, float eps) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) { return; }
    size_t row = (size_t)n * C;
    float total = 0.0f, squares = 0.0f;
    for (int c = lane; c < C; c += 32) { total += to_float(sum[row + c]); }
    float m = warp_sum(total) / C;
    for (int c = lane; c < C; c += 32) {
        float distance = to_float(sum[row + c]) - m;
        squares += distance * distance;
    }
    float r = rsqrtf(warp_sum(squares) / C + eps);
    for (int c = lane; c < C; c += 32) {
        float normal = (to_float(sum[row + c]) - m) * r;
        out[row + c] = from_float<float>(normal * to_float(weight[c]) + to_float(bias[c]));
    }
    if (lane == 0) {
        mean[n] = m;
        rstd[n] = r;
    }
}

int residual_layernorm_forward_f32(float *out, float *sum, float *mean, float *rstd, const float *x,
                                   const float *residual, const float *weight, const float *bias, int N, int C,
                                   float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    size_t count = (size_t)N * C;
    add<<<(unsigned)((count + 511) / 512), 512, 0, stream>>>(sum, x, residual, count);
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, sum, mean, rstd, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
