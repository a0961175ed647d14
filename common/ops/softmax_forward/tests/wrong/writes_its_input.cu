// step: step1  op: softmax_forward  diagnosis: input-modified
// reason: Keeps the exponentials in x, which is an input.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float largest = -INFINITY;
    for (int c = 0; c < C; c++) { largest = fmaxf(largest, x_row[c]); }
    float sum = 0.0f;
    for (int c = 0; c < C; c++) {
        x_row[c] = expf(x_row[c] - largest);
        sum += x_row[c];
    }
    for (int c = 0; c < C; c++) { out_row[c] = x_row[c] / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 127) / 128, 128, 0, stream>>>(out, const_cast<float *>(x), N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
