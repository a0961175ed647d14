// step: step1  op: residual_forward  diagnosis: vector-tail-out-of-bounds
// reason: 16 bytes a thread, and the last vector has fewer than four elements.
#include "common/cuda_check.h"
#include "ops/residual_forward/contract.h"

#include <cuda_runtime.h>

__global__ void kernel(float4 *out, const float4 *x, const float4 *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i >= count) { return; }
    float4 a = x[i], b = residual[i];
    out[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<((size_t)N * C + 1023) / 1024, 256, 0, stream>>>(
        reinterpret_cast<float4 *>(out), reinterpret_cast<const float4 *>(x),
        reinterpret_cast<const float4 *>(residual), (size_t)N * C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
