// step: step2  op: softmax_forward
// reason: A warp takes two rows, one after the other.
#include "ops/softmax_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__device__ float warp_max(float v) {
    for (int o = 16; o > 0; o /= 2) { v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o)); }
    return v;
}
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o /= 2) { v += __shfl_xor_sync(0xffffffffu, v, o); }
    return v;
}

__global__ void kernel(float *out, const float *x, int N, int C) {
    int lane = threadIdx.x % 32, warp = blockIdx.x * 4 + threadIdx.x / 32;
    for (int n = 2 * warp; n < 2 * warp + 2 && n < N; n++) {
        const float *x_row = x + (size_t)n * C;
        float *out_row = out + (size_t)n * C;
        float largest = -INFINITY, sum = 0.0f;
        for (int c = lane; c < C; c += 32) { largest = fmaxf(largest, __ldg(x_row + c)); }
        largest = warp_max(largest);
        for (int c = lane; c < C; c += 32) { sum += __expf(x_row[c] - largest); }
        sum = warp_sum(sum);
        for (int c = lane; c < C; c += 32) { __stcs(out_row + c, __fdividef(__expf(x_row[c] - largest), sum)); }
    }
}
int softmax_forward_f32(float *out, const float *x, int N, int C, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 7) / 8, 128, 0, stream>>>(out, x, N, C);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
