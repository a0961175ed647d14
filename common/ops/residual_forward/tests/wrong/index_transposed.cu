// step: step1  op: residual_forward  diagnosis: transposed-index
// reason: Reads element (n, c) and writes it to (c, n).
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, const float *residual, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y * blockDim.y + threadIdx.y;
    if (n >= N || c >= C) { return; }
    size_t i = (size_t)c * N + n, j = (size_t)n * C + c;
    out[i] = x[j] + residual[j];
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<dim3((N + 15) / 16, (C + 15) / 16), dim3(16, 16), 0, stream>>>(out, x, residual, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
