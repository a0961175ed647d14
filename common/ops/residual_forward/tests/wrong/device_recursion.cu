// step: step1  op: residual_forward  diagnosis: stack-overflow
// reason: A device function calls itself without end.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__device__ __noinline__ float down(const float *x, size_t i) {
    volatile float v = x[i];
    return v + down(x, i) * 0.0f;
}
__global__ void kernel(float *out, const float *x, const float *residual, int N, int C) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)N * C) { return; }
    out[i] = down(x, i) + residual[i];
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<((size_t)N * C + 255) / 256, 256, 0, stream>>>(out, x, residual, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
