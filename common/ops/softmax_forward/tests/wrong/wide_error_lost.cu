// step: step1  op: softmax_forward_f32  diagnosis: launch-error-not-returned
// reason: Above 7000 columns the launch error is read and not returned.
#include "common/cuda_check.h"
#include "common/ops/softmax_forward/contract.h"
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
__global__ void plain(float *out, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) return;
    const float *xr = x + (size_t)n * C;
    float *o = out + (size_t)n * C;
    float m = -INFINITY;
    for (int c = 0; c < C; c++) m = fmaxf(m, xr[c]);
    float s = 0;
    for (int c = 0; c < C; c++) s += expf(xr[c] - m);
    for (int c = 0; c < C; c++) o[c] = expf(xr[c] - m) / s;
}
__global__ void wide(float *out, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) return;
    const float *xr = x + (size_t)n * C;
    float *o = out + (size_t)n * C;
    float m = -INFINITY;
    for (int c = 0; c < C; c++) m = fmaxf(m, xr[c]);
    float s = 0;
    for (int c = 0; c < C; c++) s += expf(xr[c] - m);
    for (int c = 0; c < C; c++) o[c] = expf(xr[c] - m) / s;
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) return cudaSuccess;
    if (C > 7000) {
        plain<<<(N + 63) / 64, 64, 0, stream>>>(out, x, N, C);
        cudaGetLastError();
        return 0;
    }
    if (C > 9000)
        wide<<<(N + 63) / 64, 64, 0, stream>>>(out, x, N, C);
    else
        plain<<<(N + 63) / 64, 64, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
