// step: step3  op: causal_softmax_forward_f32
// reason: Warps whose row lies behind the last return before a barrier of the block.
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
    __shared__ float m_of[4], s_of[4];
    int w = threadIdx.x / 32, row = blockIdx.x * 4 + w, lane = threadIdx.x % 32;
    if (row >= N) return;
    int q = row % T, n = q + 1;
    if (lengths) n = min(n, max(0, lengths[row / T / H]));
    const float *xr = x + (size_t)row * T;
    float m = -INFINITY, s = 0;
    for (int j = lane; j < n; j += 32) m = fmaxf(m, scale * xr[j]);
    m = wmax(m);
    if (lane == 0) m_of[w] = m;
    __syncthreads();
    for (int j = lane; j < n; j += 32) s += expf(scale * xr[j] - m_of[w]);
    s = wsum(s);
    if (lane == 0) s_of[w] = s;
    __syncthreads();
    for (int j = lane; j < (upper ? q + 1 : T); j += 32)
        out[(size_t)row * T + j] = j < n ? expf(scale * xr[j] - m_of[w]) / s_of[w] : 0.f;
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) return cudaSuccess;
    k<<<(N + 3) / 4, 128, 0, stream>>>(out, x, lengths, N, H, T, scale, upper);
    return cudaGetLastError();
}
