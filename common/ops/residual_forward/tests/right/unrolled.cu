// step: step1  op: residual_forward
// reason: A template that takes eight elements a thread, by a table in constant memory.
#include "ops/residual_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

namespace {
__constant__ int offsets[8] = {0, 1, 2, 3, 4, 5, 6, 7};
template <int unroll, typename T> __global__ void add(T *out, const T *x, const T *residual, size_t count) {
    size_t first = ((size_t)blockIdx.x * blockDim.x) * unroll + threadIdx.x;
#pragma unroll
    for (int k = 0; k < unroll; k++) {
        size_t i = first + (size_t)offsets[k] * blockDim.x;
        if (i < count) { out[i] = x[i] + residual[i]; }
    }
}
} // namespace
int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    add<8><<<(count + 1023) / 1024, 128, 0, stream>>>(out, x, residual, count);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
