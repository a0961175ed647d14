// step: step1  op: layernorm_forward
// reason: E[x^2] - E[x]^2 in one pass, but in fp64, where the lost digits are not missed.
#include "ops/layernorm_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                       int N, int C, float eps) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    double sum = 0.0, squares = 0.0;
    for (int c = 0; c < C; c++) {
        double value = x_row[c];
        sum += value;
        squares += value * value;
    }
    double m = sum / C, variance = squares / C - m * m;
    double r = rsqrt((variance < 0.0 ? 0.0 : variance) + eps);
    for (int c = 0; c < C; c++) { out_row[c] = (float)((x_row[c] - m) * r) * weight[c] + bias[c]; }
    mean[n] = (float)m;
    rstd[n] = (float)r;
}

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 127) / 128, 128, 0, stream>>>(out, mean, rstd, x, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
