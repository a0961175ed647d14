// step: step1  op: residual_forward
// reason: A fixed grid, whose threads loop with the stride of the grid.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, const float *residual, int N, int C) {
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, n = (size_t)N * C; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        out[i] = x[i] + residual[i];
    }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<1024, 256, 0, stream>>>(out, x, residual, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
