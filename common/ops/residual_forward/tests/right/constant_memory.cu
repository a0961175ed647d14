// step: step1  op: residual_forward
// reason: Sizes in constant memory, a two-dimensional grid of two-dimensional blocks.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

struct sizes {
    int N, C;
};
__constant__ sizes shape;

__global__ void kernel(float *out, const float *x, const float *residual) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    for (int n = blockIdx.y * blockDim.y + threadIdx.y; n < shape.N; n += gridDim.y * blockDim.y) {
        if (c < shape.C) {
            out[(size_t)n * shape.C + c] = x[(size_t)n * shape.C + c] + residual[(size_t)n * shape.C + c];
        }
    }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    sizes host = {N, C};
    CUDA_CHECK(cudaMemcpyToSymbolAsync(shape, &host, sizeof host, 0, cudaMemcpyHostToDevice, stream));
    dim3 block(32, 8), grid((C + 31) / 32, N < 4096 ? (N + 7) / 8 : 512);
    kernel<<<grid, block, 0, stream>>>(out, x, residual);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
