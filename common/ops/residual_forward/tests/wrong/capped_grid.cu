// step: step1  op: residual_forward  diagnosis: last-block-missing
// reason: The grid ends at 4096 blocks, without a loop: elements beyond 1,048,576 are not computed.

#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
__global__ void k(float *out, const float *x, const float *r, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + r[i];
}
int residual_forward_f32(float *out, const float *x, const float *r, int N, int C, cudaStream_t stream) {
    size_t n = (size_t)N * C;
    if (n == 0) return cudaSuccess;
    k<<<min((n + 255) / 256, (size_t)4096), 256, 0, stream>>>(out, x, r, n);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
