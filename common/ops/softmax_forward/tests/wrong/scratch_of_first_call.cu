// step: step1  op: softmax_forward  diagnosis: workspace-too-small
// reason: A static scratch of the size that the first call needed.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) { return; }
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float largest = -INFINITY, sum = 0;
    for (int c = 0; c < C; c++) { largest = fmaxf(largest, x_row[c]); }
    for (int c = 0; c < C; c++) { sum += expf(x_row[c] - largest); }
    for (int c = 0; c < C; c++) { out_row[c] = expf(x_row[c] - largest) / sum; }
}

int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    static float *scratch;
    if (!scratch) { CUDA_CHECK(cudaMalloc(&scratch, (size_t)N * C * 4)); }
    kernel<<<(N + 63) / 64, 64, 0, stream>>>(scratch, x, N, C);
    CUDA_CHECK(cudaMemcpyAsync(out, scratch, (size_t)N * C * 4, cudaMemcpyDeviceToDevice, stream));
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
