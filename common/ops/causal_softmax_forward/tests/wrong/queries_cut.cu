// step: step3  op: causal_softmax_forward_f32  diagnosis: causal-queries-cut
// reason: Rows of queries past the length are written as zeros: the length masks keys, not queries.
#include "ops/causal_softmax_forward/contract.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__device__ float wmax(float v) {
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
__device__ float wsum(float v) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}

__global__ void k(float *out, const float *x, const int *lengths, int N, int H, int T, float scale, int upper) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= N) return;
    int q = row % T, n = q + 1;
    if (lengths) n = min(n, max(0, lengths[row / T / H]));
    const float *xr = x + (size_t)row * T;
    float *yr = out + (size_t)row * T;
    float m = -INFINITY, s = 0;
    if (lengths && q >= lengths[row / T / H]) n = 0;
    for (int j = lane; j < n; j += 32) m = fmaxf(m, scale * (float)xr[j]);
    m = wmax(m);
    for (int j = lane; j < n; j += 32) s += expf(scale * (float)xr[j] - m);
    s = wsum(s);
    for (int j = lane; j < (upper ? q + 1 : T); j += 32)
        yr[j] = (float)(j < n ? expf(scale * (float)xr[j] - m) / s : 0.f);
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) return cudaSuccess;
    k<<<(N + 3) / 4, 128, 0, stream>>>(out, x, lengths, N, H, T, scale, upper);
    return cudaGetLastError();
}
