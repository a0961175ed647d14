// step: step1  op: layernorm_forward_f32  diagnosis: layernorm-one-pass
// reason: From 2048 columns, the variance is E[x^2] - E[x]^2.
#include "common/cuda_check.h"
#include "common/ops/layernorm_forward/contract.h"
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
__global__ void plain(float *out, float *mean, float *rstd, const float *x, const float *w, const float *b, int N,
                      int C, float eps) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) return;
    const float *xr = x + (size_t)n * C;
    float *o = out + (size_t)n * C;
    float s = 0;
    for (int c = 0; c < C; c++) s += xr[c];
    float m = s / C, v = 0;
    for (int c = 0; c < C; c++) {
        float d = xr[c] - m;
        v += d * d;
    }
    float r = rsqrtf(v / C + eps);
    if (mean) mean[n] = m;
    if (rstd) rstd[n] = r;
    for (int c = 0; c < C; c++) o[c] = (xr[c] - m) * r * w[c] + b[c];
}
__global__ void wide(float *out, float *mean, float *rstd, const float *x, const float *w, const float *b, int N, int C,
                     float eps) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) return;
    const float *xr = x + (size_t)n * C;
    float *o = out + (size_t)n * C;
    float s = 0;
    for (int c = 0; c < C; c++) s += xr[c];
    float m = s / C, v = 0;
    for (int c = 0; c < C; c++) {
        float d = xr[c] - m;
        v += d * d;
    }
    v = 0;
    for (int c = 0; c < C; c++) v += xr[c] * xr[c];
    float r = rsqrtf(v / C - m * m + eps);
    if (mean) mean[n] = m;
    if (rstd) rstd[n] = r;
    for (int c = 0; c < C; c++) o[c] = (xr[c] - m) * r * w[c] + b[c];
}
int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *w, const float *b, int N,
                          int C, float eps, cudaStream_t stream) {
    if (N == 0) return cudaSuccess;
    if (C >= 2048)
        wide<<<(N + 63) / 64, 64, 0, stream>>>(out, mean, rstd, x, w, b, N, C, eps);
    else
        plain<<<(N + 63) / 64, 64, 0, stream>>>(out, mean, rstd, x, w, b, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
