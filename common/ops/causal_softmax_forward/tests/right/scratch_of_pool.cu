// step: step3  op: causal_softmax_forward_f32
// reason: Two kernels: maxima and sums of rows into scratch from the stream's pool, then every element for itself.
#include "ops/causal_softmax_forward/contract.h"
#include <cuda_runtime.h>

struct Params {
    int B, H, T;
    float scale;
    int upper;
};

__device__ inline int keys_of(const Params &p, const int *lengths, int row) {
    int i = row % p.T, k = i + 1;
    return lengths ? min(k, max(0, lengths[row / p.T / p.H])) : k;
}

__global__ void stats(float2 *ms, const float *x, const int *lengths, const Params p) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= p.B * p.H * p.T) return;
    int n = keys_of(p, lengths, row);
    const float *r = x + (size_t)row * p.T;
    float m = -INFINITY;
    for (int j = lane; j < n; j += 32) m = fmaxf(m, p.scale * r[j]);
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    float s = 0, c = 0; // Kahan
    for (int j = lane; j < n; j += 32) {
        float y = expf(p.scale * r[j] - m) - c, t = s + y;
        c = (t - s) - y;
        s = t;
    }
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
    if (lane == 0) ms[row] = make_float2(m, s);
}

__global__ void apply(float *out, const float *x, const float2 *__restrict__ ms, const int *lengths, const Params p) {
    size_t count = (size_t)p.B * p.H * p.T * p.T;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        int row = i / p.T, j = i % p.T;
        if (j < keys_of(p, lengths, row)) {
            float2 v = ms[row];
            out[i] = expf(p.scale * x[i] - v.x) / v.y;
        } else if (!(p.upper == CAUSAL_UPPER_KEEP && j > row % p.T)) {
            out[i] = 0;
        }
    }
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N == 0) return cudaSuccess;
    Params p{B, H, T, scale, upper};
    float2 *ms = nullptr;
    cudaError_t e = cudaMallocAsync(&ms, N * sizeof *ms, stream);
    if (e) return e;
    stats<<<(N + 3) / 4, dim3(32, 4), 0, stream>>>(ms, x, lengths, p);
    e = cudaGetLastError();
    if (!e) {
        apply<<<256, 256, 0, stream>>>(out, x, ms, lengths, p);
        e = cudaGetLastError();
    }
    cudaError_t f = cudaFreeAsync(ms, stream);
    return e ? e : f;
}
