// bias_gelu_backward.cu — the gradients of bias + GELU, a thread per column (the naive set)
//
// Math      common/ops/bias_gelu_backward/contract.h
// Bytes     3 x the element size for each element. Only C threads run, each over all N rows, so most of a GPU is idle. In return
//           dbias needs no second kernel, and the order of its sums is fixed.
#include "elements.cuh"
#include "ops/bias_gelu_backward/contract.h"

// dx may alias dout: a thread reads each element before it writes it.
template <class T>
__global__ void bias_gelu_backward_naive(T *dx,         // (N, C)
                                         float *dbias,  // (C)
                                         const T *dout, // (N, C)
                                         const T *x,    // (N, C)
                                         const T *bias, // (C)
                                         int N, int C) {
    const float k = 0.7978845608028654f; // sqrt(2 / pi)
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    float sum = 0.0f;
    for (int n = 0; n < N; n++) {
        size_t i = (size_t)n * C + c;
        float u = to_float(x[i]) + to_float(bias[c]);
        float t = tanhf(k * (u + 0.044715f * u * u * u));
        float slope = 0.5f * (1.0f + t) + 0.5f * u * (1.0f - t * t) * k * (1.0f + 3.0f * 0.044715f * u * u);
        float d = to_float(dout[i]) * slope;
        dx[i] = from_float<T>(d);
        sum += d;
    }
    dbias[c] += sum;
}

template <class T>
static int bias_gelu_backward(T *dx, float *dbias, const T *dout, const T *x, const T *bias, int N, int C,
                              cudaStream_t stream) {
    if (N < 0 || C < 1) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    if (!dx || !dbias || !dout || !x || !bias) { return cudaErrorInvalidValue; }
    bias_gelu_backward_naive<<<blocks_for(C), threads_per_block, 0, stream>>>(dx, dbias, dout, x, bias, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}

#define LAUNCHER(T, type)                                                                                      \
    int bias_gelu_backward_##type(T *dx, float *dbias, const T *dout, const T *x, const T *bias, int N, int C, \
                                  cudaStream_t stream) {                                                       \
        return bias_gelu_backward(dx, dbias, dout, x, bias, N, C, stream);                                     \
    }
LAUNCHER(float, f32)
LAUNCHER(__half, f16)
LAUNCHER(__nv_bfloat16, bf16)
