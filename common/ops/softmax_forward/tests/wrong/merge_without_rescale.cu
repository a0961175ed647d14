// step: step2  op: softmax_forward  diagnosis: softmax-merge-without-rescale
// reason: The lanes' sums are added as they are, though each is relative to a maximum of its own.
#include "common/cuda_check.h"
#include "ops/softmax_forward/contract.h"

#include <cuda_runtime.h>
#include <float.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int lane = threadIdx.x % 32, n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float m = -FLT_MAX, s = 0.0f;
    for (int c = lane; c < C; c += 32) {
        float b = fmaxf(m, x_row[c]);
        s = s * expf(m - b) + expf(x_row[c] - b);
        m = b;
    }
    for (int o = 16; o > 0; o /= 2) {
        float m2 = __shfl_xor_sync(0xffffffffu, m, o), s2 = __shfl_xor_sync(0xffffffffu, s, o);
        s = s + s2;
        m = fmaxf(m, m2);
    }
    for (int c = lane; c < C; c += 32) { out_row[c] = expf(x_row[c] - m) / s; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 3) / 4, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
