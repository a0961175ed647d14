// step: step3  op: residual_layernorm_forward  diagnosis: overwritten-by-host
// reason: The kernel reads its arguments from a static struct in pinned memory, which the next call overwrites.
#include "common/cuda_check.h"
#include "common/ops/residual_layernorm_forward/contract.h"
#include "common/to_float.cuh"
#include "reduce.cuh"
#include <cuda_runtime.h>
#include <math.h>

template <class T> struct arguments {
    T *out, *sum;
    float *mean, *rstd;
    const T *x, *residual, *weight, *bias;
    int N, C;
    float eps;
};

template <class T> __global__ void fused_warps(const arguments<T> *given) {
    arguments<T> a = *given;
    int n = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (n >= a.N) { return; }
    size_t row = (size_t)n * a.C;
    float s = 0.0f, q = 0.0f;
    for (int c = lane; c < a.C; c += 32) {
        T v = from_float<T>(to_float(a.x[row + c]) + to_float(a.residual[row + c]));
        a.sum[row + c] = v;
        s += to_float(v);
    }
    float m = warp_sum(s) / a.C;
    for (int c = lane; c < a.C; c += 32) {
        float d = to_float(a.sum[row + c]) - m;
        q += d * d;
    }
    float r = rsqrtf(warp_sum(q) / a.C + a.eps);
    for (int c = lane; c < a.C; c += 32) {
        a.out[row + c] =
            from_float<T>((to_float(a.sum[row + c]) - m) * r * to_float(a.weight[c]) + to_float(a.bias[c]));
    }
    if (lane == 0) { a.mean[n] = m, a.rstd[n] = r; }
}

template <class T> int go(const arguments<T> &a, cudaStream_t stream) {
    if (a.N == 0) { return cudaSuccess; }
    static arguments<T> *pinned = nullptr;
    if (pinned == nullptr) { CUDA_CHECK(cudaMallocHost((void **)&pinned, sizeof *pinned)); }
    *pinned = a;
    fused_warps<T><<<(a.N + 3) / 4, 128, 0, stream>>>(pinned);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
#define L(s, T)                                                                                                        \
    int residual_layernorm_forward_##s(T *out, T *sum, float *mean, float *rstd, const T *x, const T *residual,        \
                                       const T *weight, const T *bias, int N, int C, float eps, cudaStream_t stream) { \
        return go(arguments<T>{out, sum, mean, rstd, x, residual, weight, bias, N, C, eps}, stream);                   \
    }
L(f32, float)
L(f16, __half)
L(bf16, __nv_bfloat16)
