// step: step1  op: residual_forward  diagnosis: launcher-missing
// reason: The launcher's name lacks _f32.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, const float *residual, int N, int C) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, count = (size_t)N * C;
    if (i >= count) { return; }
    out[i] = x[i] + residual[i];
}
int residual_forward(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N == 0) { return 0; }
    kernel<<<((size_t)N * C + 255) / 256, 256, 0, stream>>>(out, x, residual, N, C);
    return cudaGetLastError();
}
