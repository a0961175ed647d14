// step: step3  op: causal_softmax_forward_bf16  diagnosis: rounded-towards-zero
// reason: The result is cut off to bf16 by taking its upper half: not rounded.
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

__global__ void k(__nv_bfloat16 *out, const __nv_bfloat16 *x, const int *lengths, int N, int H, int T, float scale,
                  int upper) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= N) return;
    int q = row % T, n = q + 1;
    if (lengths) n = min(n, max(0, lengths[row / T / H]));
    const __nv_bfloat16 *xr = x + (size_t)row * T;
    __nv_bfloat16 *yr = out + (size_t)row * T;
    float m = -INFINITY, s = 0;
    for (int j = lane; j < n; j += 32) m = fmaxf(m, scale * (float)xr[j]);
    m = wmax(m);
    for (int j = lane; j < n; j += 32) s += expf(scale * (float)xr[j] - m);
    s = wsum(s);
    for (int j = lane; j < (upper ? q + 1 : T); j += 32) {
        float y = j < n ? expf(scale * (float)xr[j] - m) / s : 0.f;
        unsigned short u = __float_as_uint(y) >> 16;
        yr[j] = __ushort_as_bfloat16(u);
    };
}

int causal_softmax_forward_bf16(__nv_bfloat16 *out, const __nv_bfloat16 *x, const int *lengths, int B, int H, int T,
                                float scale, int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) return cudaSuccess;
    k<<<(N + 3) / 4, 128, 0, stream>>>(out, x, lengths, N, H, T, scale, upper);
    return cudaGetLastError();
}
