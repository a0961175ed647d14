// step: step1  op: residual_forward
// reason: As many blocks as the device has processors, each with 8 warps that stay until all is done.
#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"

#include <cuda_runtime.h>

__global__ void residual_kernel(float *out, const float *x, const float *residual, size_t count) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        out[i] = x[i] + residual[i];
    }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    int device = 0, processors = 0;
    if (N == 0) { return cudaSuccess; }
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    residual_kernel<<<processors, 256, 0, stream>>>(out, x, residual, (size_t)N * C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
