// step: step3  op: causal_softmax_forward_bf16  diagnosis: in-place-hazard
// reason: Groups without a row take the last row for theirs, so that all lanes shuffle: they read what its own group writes.
#include "ops/causal_softmax_forward/contract.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>

using bf16 = __nv_bfloat16;
using bf162 = __nv_bfloat162;

template <int W, bool VEC> __device__ void load_row(const bf16 *p, int j, int n, float (&f)[W]) {
    if constexpr (VEC) {
        static_assert(W == 8, "");
        if (j + 8 <= n) {
            int4 raw = __ldg(reinterpret_cast<const int4 *>(p + j));
            const bf162 *h = reinterpret_cast<const bf162 *>(&raw);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                f[2 * k] = __low2float(h[k]);
                f[2 * k + 1] = __high2float(h[k]);
            }
            return;
        }
    }
#pragma unroll
    for (int k = 0; k < W; k++) f[k] = j + k < n ? __bfloat162float(p[j + k]) : -INFINITY;
}

template <bool VEC>
__global__ void k(bf16 *out, const bf16 *x, const int *len, int N, int H, int T, float scale, int upper) {
    constexpr int G = 8, W = 8;
    unsigned group = threadIdx.x / G, lane = threadIdx.x % G, row = blockIdx.x * (blockDim.x / G) + group;
    bool live = row < (unsigned)N;
    if (!live) row = N - 1; // all lanes stay for the shuffles, and write nothing
    int q = row % T, n = q + 1;
    if (len) n = min(n, max(0, len[row / T / H]));
    const bf16 *xr = x + (size_t)row * T;
    bf16 *yr = out + (size_t)row * T;
    float m = -INFINITY, s = 0.f, f[W];
    for (int j = lane * W; j < n; j += G * W) {
        load_row<W, VEC>(xr, j, n, f);
        for (float e : f) m = fmaxf(m, e);
    }
    for (int o = G / 2; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o, G));
    for (int j = lane * W; j < n; j += G * W) {
        load_row<W, VEC>(xr, j, n, f);
        for (int i = 0; i < W; i++) s += j + i < n ? __expf(scale * f[i] - scale * m) : 0.f;
    }
    for (int o = G / 2; o; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o, G);
    if (!live) return;
    const float inv = 1.f / s;
    const int end = upper == CAUSAL_UPPER_KEEP ? q + 1 : T;
    for (int j = lane * W; j < end; j += G * W) {
        load_row<W, VEC>(xr, j, n, f);
        union {
            int4 raw;
            bf16 h[W];
        } u;
        for (int i = 0; i < W; i++) u.h[i] = __float2bfloat16(j + i < n ? __expf(scale * f[i] - scale * m) * inv : 0.f);
        if (VEC && j + W <= end)
            *reinterpret_cast<int4 *>(yr + j) = u.raw;
        else
            for (int i = 0; i < W && j + i < end; i++) yr[j + i] = u.h[i];
    }
}

int causal_softmax_forward_bf16(bf16 *out, const bf16 *x, const int *lengths, int B, int H, int T, float scale,
                                int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) return 0;
    bool vec = T % 8 == 0 && (((size_t)out | (size_t)x) & 15) == 0;
    (vec ? k<true> : k<false>)<<<(N + 15) / 16, 128, 0, stream>>>(out, x, lengths, N, H, T, scale, upper);
    return cudaGetLastError();
}
