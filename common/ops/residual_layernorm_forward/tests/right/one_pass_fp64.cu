// step: step3  op: residual_layernorm_forward_f16
// reason: E[x^2] - E[x]^2 in double: as exact as two passes in float.
#include "ops/residual_layernorm_forward/contract.h"
#include "common/cuda_check.h"
#include "reduce.cuh"
#include "vec.cuh"

__global__ void kernel(__half *out, __half *sum, float *mean, float *rstd, const __half *x, const __half *residual,
                       const __half *weight, const __half *bias, int N, int C, float eps) {
    int n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (n >= N) { return; }
    size_t row = (size_t)n * C;
    double total = 0.0, squares = 0.0;
    for (int c = lane; c < C; c += 32) {
        __half rounded = from_float<__half>(to_float(x[row + c]) + to_float(residual[row + c]));
        sum[row + c] = rounded;
        total += to_float(rounded);
        squares += (double)to_float(rounded) * to_float(rounded);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(all_lanes, total, offset);
        squares += __shfl_xor_sync(all_lanes, squares, offset);
    }
    float m = (float)(total / C), r = (float)(1.0 / sqrt(squares / C - total / C * (total / C) + eps));
    for (int c = lane; c < C; c += 32) {
        float normal = (to_float(sum[row + c]) - m) * r;
        out[row + c] = from_float<__half>(normal * to_float(weight[c]) + to_float(bias[c]));
    }
    if (lane == 0) {
        mean[n] = m;
        rstd[n] = r;
    }
}

int residual_layernorm_forward_f16(__half *out, __half *sum, float *mean, float *rstd, const __half *x,
                                   const __half *residual, const __half *weight, const __half *bias, int N, int C,
                                   float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, sum, mean, rstd, x, residual, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
