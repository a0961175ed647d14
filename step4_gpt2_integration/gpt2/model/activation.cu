// activation.cu — bias + GELU by erf and bias + ReLU, and their gradients, in the place of bias + GELU (activation.cuh)
//
// Math      common/ops/bias_gelu_forward/contract.h and bias_gelu_backward/contract.h, with the other function:
//             GELU by erf   g(u) = u P(u), g'(u) = P(u) + u p(u);  P(u) = (1 + erf(u / sqrt(2))) / 2,  p(u) = exp(-u u / 2) /
//                                                                  sqrt(2 pi)
//             ReLU          g(u) = max(u, 0), g'(u) = 1 where u > 0, else 0, as PyTorch has it
// Bytes     forward 2, backward 3 x the element size for each element, which is the minimum
#include "gpt2/model/activation.cuh"

#include "gpt2/model/device.cuh"

#include <climits>

namespace {
enum { threads_per_block = 128 };

unsigned blocks_for(long long threads) {
    return (unsigned)((threads + threads_per_block - 1) / threads_per_block);
}

// A thread per element. out may alias x.
template <class T, gpt2_activation activation>
__global__ void bias_activation_kernel(T *out,        // (N, C)
                                       const T *x,    // (N, C)
                                       const T *bias, // (C)
                                       long long count, int C) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    out[i] = from_float<T>(activate(to_float(x[i]) + to_float(bias[i % C]), activation));
}

__device__ float slope_of(float u, gpt2_activation activation) {
    if (activation == GPT2_RELU) { return u > 0.0f ? 1.0f : 0.0f; }
    return 0.5f * (1.0f + erff(u * 0.7071067811865476f)) + u * 0.3989422804014327f * expf(-0.5f * u * u);
}

// A thread per column, so dbias needs no second kernel and the order of its sums is fixed. dx may alias dout.
template <class T, gpt2_activation activation>
__global__ void bias_activation_backward_kernel(T *dx,         // (N, C)
                                                float *dbias,  // (C)
                                                const T *dout, // (N, C)
                                                const T *x,    // (N, C)
                                                const T *bias, // (C)
                                                int N, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    float sum = 0.0f;
    for (int n = 0; n < N; n++) {
        size_t i = (size_t)n * C + c;
        float d = to_float(dout[i]) * slope_of(to_float(x[i]) + to_float(bias[c]), activation);
        dx[i] = from_float<T>(d);
        sum += d;
    }
    dbias[c] += sum;
}

template <class T, gpt2_activation activation>
int bias_activation(T *out, const T *x, const T *bias, int N, int C, cudaStream_t stream) {
    long long count = (long long)N * C;
    if (N < 0 || C < 1 || count > INT_MAX) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    bias_activation_kernel<T, activation><<<blocks_for(count), threads_per_block, 0, stream>>>(out, x, bias, count, C);
    return cudaGetLastError();
}

template <class T, gpt2_activation activation>
int bias_activation_backward(T *dx, float *dbias, const T *dout, const T *x, const T *bias, int N, int C,
                             cudaStream_t stream) {
    if (N < 0 || C < 1) { return cudaErrorInvalidValue; }
    if (N == 0) { return cudaSuccess; }
    bias_activation_backward_kernel<T, activation>
        <<<blocks_for(C), threads_per_block, 0, stream>>>(dx, dbias, dout, x, bias, N, C);
    return cudaGetLastError();
}

template <gpt2_activation activation> void use(kernel_table &kernels) {
    kernels.f32.bias_gelu_forward = bias_activation<float, activation>;
    kernels.f16.bias_gelu_forward = bias_activation<__half, activation>;
    kernels.bf16.bias_gelu_forward = bias_activation<__nv_bfloat16, activation>;
    kernels.f32.bias_gelu_backward = bias_activation_backward<float, activation>;
    kernels.f16.bias_gelu_backward = bias_activation_backward<__half, activation>;
    kernels.bf16.bias_gelu_backward = bias_activation_backward<__nv_bfloat16, activation>;
}
} // namespace

void use_activation(kernel_table &kernels, gpt2_activation activation) {
    switch (activation) {
        case GPT2_GELU_TANH: break;
        case GPT2_GELU_ERF: use<GPT2_GELU_ERF>(kernels); break;
        case GPT2_RELU: use<GPT2_RELU>(kernels); break;
    }
}
