// step: step2  op: layernorm_forward  diagnosis: nan-in-other-rows
// reason: A warp takes two rows and masks the other row by multiplying with 0; NaN * 0 is NaN.
#include "ops/layernorm_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) { value += __shfl_xor_sync(0xffffffffu, value, offset); }
    return value;
}

__global__ void kernel(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                       int N, int C, float eps) {
    int lane = threadIdx.x % 32;
    int first = 2 * (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
    for (int n = first; n < first + 2 && n < N; n++) {
        float *out_row = out + (size_t)n * C;
        float sum = 0.0f;
        for (int other = first; other < first + 2 && other < N; other++) {
            float mine = other == n ? 1.0f : 0.0f;
            for (int c = lane; c < C; c += 32) { sum += mine * x[(size_t)other * C + c]; }
        }
        float m = warp_sum(sum) / C;
        float squares = 0.0f;
        const float *x_row = x + (size_t)n * C;
        for (int c = lane; c < C; c += 32) { squares += (x_row[c] - m) * (x_row[c] - m); }
        float r = rsqrtf(warp_sum(squares) / C + eps);
        for (int c = lane; c < C; c += 32) { out_row[c] = (x_row[c] - m) * r * weight[c] + bias[c]; }
        if (lane == 0) {
            mean[n] = m;
            rstd[n] = r;
        }
    }
}

int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<(N + 7) / 8, 128, 0, stream>>>(out, mean, rstd, x, weight, bias, N, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
