// step: step3  op: causal_softmax_forward_f32
// reason: Parameters in constant memory, copied on the stream; 2D blocks, queries backwards in grid.y.
#include "ops/causal_softmax_forward/contract.h"
#include <cuda_runtime.h>

struct Config {
    int H, T, upper;
    float scale;
};
__constant__ Config config;

__global__ void kernel(float *out, const float *x, const int *lengths) {
    const int T = config.T;
    int q = T - 1 - (blockIdx.y * blockDim.y + threadIdx.y);
    if (q < 0) return;
    size_t base = ((size_t)blockIdx.x * T + q) * T;
    int n = q + 1;
    if (lengths) n = max(0, min(n, lengths[blockIdx.x / config.H]));
    float m = -INFINITY, s = 0.f;
    for (int j = threadIdx.x; j < n; j += 32) m = fmaxf(m, config.scale * x[base + j]);
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
    for (int j = threadIdx.x; j < n; j += 32) s += expf(config.scale * x[base + j] - m);
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
    for (int j = threadIdx.x; j < (config.upper ? q + 1 : T); j += 32)
        out[base + j] = j < n ? expf(config.scale * x[base + j] - m) / s : 0.f;
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    if (B == 0 || H == 0) return cudaSuccess;
    Config c{H, T, upper, scale};
    cudaError_t e = cudaMemcpyToSymbolAsync(config, &c, sizeof c, 0, cudaMemcpyHostToDevice, stream);
    if (e != cudaSuccess) return e;
    kernel<<<dim3(B * H, (T + 3) / 4), dim3(32, 4), 0, stream>>>(out, x, lengths);
    return cudaGetLastError();
}
