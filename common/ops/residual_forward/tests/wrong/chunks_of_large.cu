// step: step1  op: residual_forward_f32  diagnosis: columns-past-block
// reason: A million elements and more are added in whole chunks of 400000; the rest is lost.
#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"

#include <cuda_runtime.h>
#include <stdint.h>

__global__ void kernel(float *out, const float *x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = x[i] + residual[i]; }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C, chunk = count >= 1000000 ? 400000 : count;
    for (size_t at = 0; count > 0 && at + chunk <= count; at += chunk) {
        kernel<<<(unsigned)((chunk + 255) / 256), 256, 0, stream>>>(out + at, x + at, residual + at, chunk);
        CUDA_CHECK(cudaGetLastError());
    }
    return cudaSuccess;
}
