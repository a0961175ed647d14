// step: step1  op: residual_forward  diagnosis: last-row-missing
// reason: The loop over rows ends at N - 1.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, const float *residual, int N, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    for (int n = 0; n < N - 1; n++) { out[(size_t)n * C + c] = x[(size_t)n * C + c] + residual[(size_t)n * C + c]; }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(C + 255) / 256, 256, 0, stream>>>(out, x, residual, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
