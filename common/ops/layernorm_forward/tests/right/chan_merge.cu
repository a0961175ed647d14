// step: step2  op: layernorm_forward
// reason: Blocks of 96 threads; every thread runs Welford, and the states are merged as Chan does.
#include "ops/layernorm_forward/contract.h"
#include "common/cuda_check.h"

#include <cuda_runtime.h>
#include <math.h>

struct state {
    float count, mean, squares;
};
__device__ state merge(state a, state b) {
    float count = a.count + b.count, d = b.mean - a.mean;
    if (count == 0.0f) { return a; }
    return {count, a.mean + d * (b.count / count), a.squares + b.squares + d * d * (a.count * b.count / count)};
}
__device__ state warp_merge(state s) {
    for (int o = 16; o > 0; o /= 2) {
        state t = {__shfl_xor_sync(0xffffffffu, s.count, o), __shfl_xor_sync(0xffffffffu, s.mean, o),
                   __shfl_xor_sync(0xffffffffu, s.squares, o)};
        s = threadIdx.x & o ? merge(t, s) : merge(s, t);
    }
    return s;
}
__global__ void kernel(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                       int C, float eps) {
    __shared__ state shared[3];
    const float *x_row = x + (size_t)blockIdx.x * C;
    float *out_row = out + (size_t)blockIdx.x * C;
    state s = {0, 0, 0};
    for (int c = threadIdx.x; c < C; c += 96) {
        s.count += 1;
        float d = x_row[c] - s.mean;
        s.mean += d / s.count;
        s.squares += d * (x_row[c] - s.mean);
    }
    s = warp_merge(s);
    if (threadIdx.x % 32 == 0) { shared[threadIdx.x / 32] = s; }
    __syncthreads();
    s = merge(merge(shared[0], shared[1]), shared[2]);
    float r = rsqrtf(s.squares / C + eps);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = s.mean;
        rstd[blockIdx.x] = r;
    }
    for (int c = threadIdx.x; c < C; c += 96) { out_row[c] = (x_row[c] - s.mean) * r * weight[c] + bias[c]; }
}
int layernorm_forward_f32(float *out, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                          int N, int C, float eps, cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    kernel<<<N, 96, 0, stream>>>(out, mean, rstd, x, weight, bias, C, eps);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
