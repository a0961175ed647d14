// step: step3  op: causal_softmax_forward_f32  diagnosis: last-block-missing
// reason: A warp takes rows 2 w and 2 w + 1 while both exist: of an odd number the last one has no warp.
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

__device__ void one(float *yr, const float *xr, int q, int n, int T, float scale, int upper, int lane) {
    float m = -INFINITY, s = 0;
    for (int j = lane; j < n; j += 32) m = fmaxf(m, scale * (float)xr[j]);
    m = wmax(m);
    for (int j = lane; j < n; j += 32) s += expf(scale * (float)xr[j] - m);
    s = wsum(s);
    for (int j = lane; j < (upper ? q + 1 : T); j += 32)
        yr[j] = (float)(j < n ? expf(scale * (float)xr[j] - m) / s : 0.f);
}
__global__ void k(float *out, const float *x, const int *lengths, int N, int H, int T, float scale, int upper) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (2 * warp + 1 >= N) return;
    for (int row = 2 * warp; row < 2 * warp + 2; row++) {
        int q = row % T, n = q + 1;
        if (lengths) n = min(n, max(0, lengths[row / T / H]));
        one(out + (size_t)row * T, x + (size_t)row * T, q, n, T, scale, upper, lane);
    }
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) return cudaSuccess;
    k<<<(N + 3) / 4, 128, 0, stream>>>(out, x, lengths, N, H, T, scale, upper);
    return cudaGetLastError();
}
