// step: step3  op: causal_softmax_forward_f32  diagnosis: invalid-pointer
// reason: With long rows and more than three heads, lengths is read without a test for null.

#include "common/cuda_check.h"
#include "common/ops/causal_softmax_forward/contract.h"
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
__global__ void plain(float *out, const float *x, const int *lengths, int B, int H, int T, float scale, int upper) {
    long row = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= (long)B * H * T) return;
    int i = row % T, b = row / T / H, keys = i + 1;
    if (lengths) {
        int l = lengths[b];
        l = l < 0 ? 0 : l;
        keys = l < keys ? l : keys;
    }
    const float *xr = x + row * T;
    float *o = out + row * T;
    float m = -INFINITY, s = 0;
    for (int j = 0; j < keys; j++) m = fmaxf(m, scale * xr[j]);
    for (int j = 0; j < keys; j++) s += expf(scale * xr[j] - m);
    for (int j = 0; j < keys; j++) o[j] = expf(scale * xr[j] - m) / s;
    for (int j = keys; j < (upper == CAUSAL_UPPER_KEEP ? i + 1 : T); j++) o[j] = 0;
}
__global__ void odd(float *out, const float *x, const int *lengths, int B, int H, int T, float scale, int upper) {
    long row = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= (long)B * H * T) return;
    int i = row % T, b = row / T / H, keys = i + 1;
    {
        int l = lengths[b];
        l = l < 0 ? 0 : l;
        keys = l < keys ? l : keys;
    }
    const float *xr = x + row * T;
    float *o = out + row * T;
    float m = -INFINITY, s = 0;
    for (int j = 0; j < keys; j++) m = fmaxf(m, scale * xr[j]);
    for (int j = 0; j < keys; j++) s += expf(scale * xr[j] - m);
    for (int j = 0; j < keys; j++) o[j] = expf(scale * xr[j] - m) / s;
    for (int j = keys; j < (upper == CAUSAL_UPPER_KEEP ? i + 1 : T); j++) o[j] = 0;
}
int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    if (B == 0 || H == 0) return cudaSuccess;
    if (T >= 300 && H > 3)
        odd<<<(B * H * T + 31) / 32, 32, 0, stream>>>(out, x, lengths, B, H, T, scale, upper);
    else
        plain<<<(B * H * T + 31) / 32, 32, 0, stream>>>(out, x, lengths, B, H, T, scale, upper);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
