// step: step1  op: residual_forward  diagnosis: too-slow-or-endless
// reason: One thread computes all rows, and with each row again all rows before it.
#include "common/cuda_check.h"
#include "ops/residual_forward/contract.h"

#include <cuda_runtime.h>

__global__ void kernel(float *out, const float *x, const float *residual, int N, int C) {
    for (int n = 0; n < N; n++) {
        for (size_t i = 0; i < (size_t)(n + 1) * C; i++) { out[i] = x[i] + residual[i]; }
    }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<1, 1, 0, stream>>>(out, x, residual, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
