// step: step1  op: softmax_forward  diagnosis: too-few-warps
// reason: One thread does everything: the bytes are as few as they can be and the GPU is idle.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    for (int n = 0; n < N; n++) {
        const float *x_row = x + (size_t)n * C;
        float *out_row = out + (size_t)n * C;
        float largest = -INFINITY;
        for (int c = 0; c < C; c++) { largest = fmaxf(largest, x_row[c]); }
        float sum = 0.0f;
        for (int c = 0; c < C; c++) { sum += expf(x_row[c] - largest); }
        for (int c = 0; c < C; c++) { out_row[c] = expf(x_row[c] - largest) / sum; }
    }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<1, 1, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
