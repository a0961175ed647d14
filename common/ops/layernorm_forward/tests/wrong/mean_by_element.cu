// step: step1  op: layernorm_forward  diagnosis: small-tensor-index
// reason: mean and rstd are indexed by the element n * C.
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
    float sum = 0, squares = 0;
    for (int c = 0; c < C; c++) { sum += x_row[c]; }
    float m = sum / C;
    for (int c = 0; c < C; c++) { squares += (x_row[c] - m) * (x_row[c] - m); }
    float variance = squares / C, r = rsqrtf(variance + eps);
    for (int c = 0; c < C; c++) { out_row[c] = (x_row[c] - m) * r * weight[c] + bias[c]; }
    mean[(size_t)n * C] = m;
    rstd[(size_t)n * C] = r;
}

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 63) / 64, 64, 0, stream>>>(out, mean, rstd, x, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
