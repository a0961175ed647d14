// bias_gelu.cu — bias + GELU, a thread per element (the naive set)
//
// Math      common/ops/bias_gelu_forward/contract.h
// Bytes     2 x the element size for each element, which is the minimum; but each access is only 2 or 4 bytes wide.
#include "elements.cuh"
#include "ops/bias_gelu_forward/contract.h"

template <class T>
__global__ void bias_gelu_naive(T *out,        // (N, C)
                                const T *x,    // (N, C)
                                const T *bias, // (C)
                                long long count, int C) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    float u = to_float(x[i]) + to_float(bias[i % C]);
    float inner = 0.7978845608028654f * (u + 0.044715f * u * u * u); // sqrt(2 / pi)
    out[i] = from_float<T>(0.5f * u * (1.0f + tanhf(inner)));
}

template <class T> static int bias_gelu(T *out, const T *x, const T *bias, int N, int C, cudaStream_t stream) {
    long long count = (long long)N * C;
    if (N < 0 || C < 1 || !launchable(count)) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (!out || !x || !bias) { return cudaErrorInvalidValue; }
    bias_gelu_naive<<<blocks_for(count), threads_per_block, 0, stream>>>(out, x, bias, count, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHER(T, type)                                                                                \
    int bias_gelu_forward_##type(T *out, const T *x, const T *bias, int N, int C, cudaStream_t stream) { \
        return bias_gelu(out, x, bias, N, C, stream);                                                    \
    }
LAUNCHER(float, f32)
LAUNCHER(__half, f16)
LAUNCHER(__nv_bfloat16, bf16)
