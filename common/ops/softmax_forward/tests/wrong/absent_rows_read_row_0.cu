// step: step2  op: softmax_forward  diagnosis: in-place-hazard
// reason: Half warps without a row read row 0, which in place another warp overwrites.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__global__ void kernel(float *out, const float *x, int N, int C) {
    int lane = threadIdx.x % 16, n = blockIdx.x * 8 + threadIdx.x / 16;
    bool inside = n < N;
    const float *x_row = x + (size_t)(inside ? n : 0) * C;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = lane; c < C; c += 16) { largest = fmaxf(largest, x_row[c]); }
    for (int o = 8; o > 0; o /= 2) { largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, o, 16)); }
    for (int c = lane; c < C; c += 16) { sum += expf(x_row[c] - largest); }
    for (int o = 8; o > 0; o /= 2) { sum += __shfl_xor_sync(0xffffffffu, sum, o, 16); }
    if (!inside) { return; }
    float *out_row = out + (size_t)n * C;
    for (int c = lane; c < C; c += 16) { out_row[c] = expf(x_row[c] - largest) / sum; }
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 7) / 8, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
