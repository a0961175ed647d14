// layernorm.cu — LayerNorm and residual add + LayerNorm as in lab 1: a thread per row, an op at a time (the naive set)
//
// Purpose   The naive set is the baseline of the labs: the same results, with more bytes than necessary.
// Math      common/ops/layernorm_forward/contract.h, residual_layernorm_forward/contract.h
// Bytes     LayerNorm reads x three times. The residual add is a kernel of its own, so its sum is written and read again.
#include "elements.cuh"
#include "ops/layernorm_forward/contract.h"
#include "ops/residual_layernorm_forward/contract.h"

template <class T>
__global__ void layernorm_naive(T *out,          // (N, C)
                                float *mean,     // (N)
                                float *rstd,     // (N)
                                const T *x,      // (N, C)
                                const T *weight, // (C)
                                const T *bias,   // (C)
                                int N, int C, float eps) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const T *from = x + (size_t)row * C; // (C)
    T *to = out + (size_t)row * C;       // (C)

    float sum = 0.0f;
    for (int c = 0; c < C; c++) { sum += to_float(from[c]); }
    float m = sum / C;

    float squares = 0.0f;
    for (int c = 0; c < C; c++) {
        float d = to_float(from[c]) - m;
        squares += d * d;
    }
    float r = 1.0f / sqrtf(squares / C + eps);

    for (int c = 0; c < C; c++) {
        to[c] = from_float<T>((to_float(from[c]) - m) * r * to_float(weight[c]) + to_float(bias[c]));
    }
    mean[row] = m;
    rstd[row] = r;
}

template <class T>
__global__ void add_naive(T *sum,            // (count)
                          const T *x,        // (count)
                          const T *residual, // (count)
                          long long count) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    sum[i] = from_float<T>(to_float(x[i]) + to_float(residual[i]));
}

template <class T>
static int layernorm(T *out, float *mean, float *rstd, const T *x, const T *weight, const T *bias, int N, int C,
                     float eps, cudaStream_t stream) {
    if (N < 0 || C < 1) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (!out || !mean || !rstd || !x || !weight || !bias) { return cudaErrorInvalidValue; }
    layernorm_naive<<<blocks_for(N), threads_per_block, 0, stream>>>(out, mean, rstd, x, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

template <class T>
static int residual_layernorm(T *out, T *sum, float *mean, float *rstd, const T *x, const T *residual, const T *weight,
                              const T *bias, int N, int C, float eps, cudaStream_t stream) {
    if (N < 0 || C < 1 || !launchable((long long)N * C)) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (!sum || !x || !residual) { return cudaErrorInvalidValue; }
    add_naive<<<blocks_for((long long)N * C), threads_per_block, 0, stream>>>(sum, x, residual, (long long)N * C);
    CUDA_CHECK(cudaGetLastError());
    return layernorm(out, mean, rstd, (const T *)sum, weight, bias, N, C, eps, stream);
}

#define LAUNCHERS(T, type)                                                                                            \
    int layernorm_forward_##type(T *out, float *mean, float *rstd, const T *x, const T *weight, const T *bias, int N, \
                                 int C, float eps, cudaStream_t stream) {                                             \
        return layernorm(out, mean, rstd, x, weight, bias, N, C, eps, stream);                                        \
    }                                                                                                                 \
    int residual_layernorm_forward_##type(T *out, T *sum, float *mean, float *rstd, const T *x, const T *residual,    \
                                          const T *weight, const T *bias, int N, int C, float eps,                    \
                                          cudaStream_t stream) {                                                      \
        return residual_layernorm(out, sum, mean, rstd, x, residual, weight, bias, N, C, eps, stream);                \
    }
LAUNCHERS(float, f32)
LAUNCHERS(__half, f16)
LAUNCHERS(__nv_bfloat16, bf16)
