// step: step2  op: softmax_forward
// reason: Half a warp a row, shuffles of width 16; where there is no row, a half takes part with no columns.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int lane = threadIdx.x % 16, n = blockIdx.x * 8 + threadIdx.x / 16, columns = n < N ? C : 0;
    const float *x_row = x + (size_t)n * C;
    float *out_row = out + (size_t)n * C;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = lane; c < columns; c += 16) { largest = fmaxf(largest, x_row[c]); }
    for (int o = 8; o > 0; o /= 2) { largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, o, 16)); }
    for (int c = lane; c < columns; c += 16) { sum += expf(x_row[c] - largest); }
    for (int o = 8; o > 0; o /= 2) { sum += __shfl_xor_sync(0xffffffffu, sum, o, 16); }
    for (int c = lane; c < columns; c += 16) { out_row[c] = expf(x_row[c] - largest) / sum; }
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 7) / 8, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
