// step: step1  op: softmax_forward
// reason: One pass for maximum and sum, the sum in fp64.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float largest = -INFINITY;
    double sum = 0.0;
    for (int c = 0; c < C; c++) {
        float value = x_row[c];
        if (value > largest) {
            sum = largest == -INFINITY ? 0.0 : sum * exp((double)largest - value);
            largest = value;
        }
        sum += value == -INFINITY ? 0.0 : exp((double)value - largest);
    }
    float scale = (float)(1.0 / sum);
    for (int c = 0; c < C; c++) { out_row[c] = expf(x_row[c] - largest) * scale; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 127) / 128, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
