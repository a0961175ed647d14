// step: step1  op: softmax_forward
// reason: The open problem of lab 1: a thread per row keeps its maximum and the sum relative to it, and rescales the sum.
#include "common/cuda_check.h"
#include "ops/softmax_forward/contract.h"

#include <cuda_runtime.h>
#include <float.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C; // (C)
    float *out_row = out + (size_t)n * C;   // (C)

    float largest = -FLT_MAX, sum = 0.0f; // -INFINITY - -INFINITY is NaN
    for (int c = 0; c < C; c++) {
        float value = x_row[c], larger = fmaxf(largest, value);
        sum = sum * expf(largest - larger) + expf(value - larger);
        largest = larger;
    }
    for (int c = 0; c < C; c++) { out_row[c] = expf(x_row[c] - largest) / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 63) / 64, 64, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
