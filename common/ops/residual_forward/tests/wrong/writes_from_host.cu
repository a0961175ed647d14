// step: step1  op: residual_forward  diagnosis: device-pointer
// reason: Writes the first element on the host.
#include "common/cuda_check.h"
#include "ops/residual_forward/contract.h"

#include <cuda_runtime.h>

__global__ void add_kernel(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = x[i] + residual[i]; }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    out[0] = x[0] + residual[0];
    add_kernel<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(out, x, residual, count);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
