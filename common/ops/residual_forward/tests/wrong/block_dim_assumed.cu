// step: step1  op: residual_forward  diagnosis: output-partly-untouched
// reason: The kernel counts on 256 threads a block, and the launch gives it 128.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, const float *residual, int N, int C) {
    size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= (size_t)N * C) { return; }
    out[i] = x[i] + residual[i];
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<((size_t)N * C + 255) / 256, 128, 0, stream>>>(out, x, residual, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
