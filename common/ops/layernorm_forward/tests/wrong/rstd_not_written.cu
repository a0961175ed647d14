// step: step1  op: layernorm_forward  diagnosis: stats-not-written
// reason: rstd is computed and used, but not stored; the backward pass would read what lies there.
#include "ops/layernorm_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, float *mean, const float *x, const float *weight, const float *bias, int N, int C,
                       float eps) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float sum = 0.0f;
    for (int c = 0; c < C; c++) { sum += x_row[c]; }
    float m = sum / C;
    float squares = 0.0f;
    for (int c = 0; c < C; c++) { squares += (x_row[c] - m) * (x_row[c] - m); }
    float r = rsqrtf(squares / C + eps);
    for (int c = 0; c < C; c++) { out_row[c] = (x_row[c] - m) * r * weight[c] + bias[c]; }
    mean[n] = m;
}

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 127) / 128, 128, 0, stream>>>(out, mean, x, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
