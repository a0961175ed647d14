// bias_gelu.cu — for the tests of `gpt2 check`: a kernel that forgets the bias
#include "ops/bias_gelu_forward/contract.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void gelu_without_bias(float *out,     // (count)
                                  const float *x, // (count)
                                  int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    float u = x[i];
    out[i] = 0.5f * u * (1.0f + tanhf(0.7978845608028654f * (u + 0.044715f * u * u * u)));
}

int bias_gelu_forward_f32(float *out, const float *x, const float *bias, int N, int C, cudaStream_t stream) {
    (void)bias;
    gelu_without_bias<<<(N * C + 127) / 128, 128, 0, stream>>>(out, x, N * C);
    return cudaGetLastError();
}
