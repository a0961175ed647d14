// step: step2  op: bias_add  diagnosis: vector-tail
// reason: The planted bug repaired by leaving out the last group of four.
#include "ops/bias_add/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, const float *bias, int N, int C) {
    size_t first = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 4, count = (size_t)N * C;
    if (first + 4 > count) { return; }
    for (size_t i = first; i < first + 4; i++) { out[i] = x[i] + bias[i % C]; }
}

int bias_add_f32(float *out, const float *x, const float *bias, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<((size_t)N * C + 511) / 512, 128, 0, stream>>>(out, x, bias, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
