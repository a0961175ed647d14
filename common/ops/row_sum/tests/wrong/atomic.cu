// step: step2  op: row_sum  diagnosis: not-repeatable
// reason: Float atomics: the order of the additions changes from run to run.
#include "ops/row_sum/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    const float *x_row = x + (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += 128) { atomicAdd(&out[blockIdx.x], x_row[c]); }
}

int row_sum_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    CUDA_CHECK(cudaMemsetAsync(out, 0, N * sizeof(float), stream));
    kernel<<<N, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
