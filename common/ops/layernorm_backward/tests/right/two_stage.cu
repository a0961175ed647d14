// step: step2  op: layernorm_backward
// reason: Every block keeps its part of dweight and dbias in a workspace; a second kernel adds the parts up.
#include "ops/layernorm_backward/contract.h"
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

__global__ void rows(float *dinp, float *part, const float *dout, const float *x, const float *weight,
                     const float *mean, const float *rstd, int N, int C) {
    int lane = threadIdx.x % 32;
    float *pw = part + (size_t)blockIdx.x * 2 * C, *pb = pw + C;
    for (int c = lane; c < C; c += 32) {
        pw[c] = 0;
        pb[c] = 0;
    }
    for (int n = blockIdx.x; n < N; n += gridDim.x) {
        const float *d = dout + (size_t)n * C, *xr = x + (size_t)n * C;
        float a = 0, b = 0;
        for (int c = lane; c < C; c += 32) {
            float g = d[c] * weight[c], h = (xr[c] - mean[n]) * rstd[n];
            a += g;
            b += g * h;
        }
        a = warp_sum(a) / C, b = warp_sum(b) / C;
        for (int c = lane; c < C; c += 32) {
            float dc = d[c], g = dc * weight[c], h = (xr[c] - mean[n]) * rstd[n];
            dinp[(size_t)n * C + c] = rstd[n] * (g - a - h * b);
            pw[c] += dc * h;
            pb[c] += dc;
        }
    }
}
__global__ void columns(float *dweight, float *dbias, const float *part, int parts, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) { return; }
    float w = 0, b = 0;
    for (int p = 0; p < parts; p++) {
        w += part[(size_t)p * 2 * C + c];
        b += part[(size_t)p * 2 * C + C + c];
    }
    dweight[c] += w;
    dbias[c] += b;
}
int layernorm_backward_f32(float *dinp, float *dweight, float *dbias, const float *dout, const float *x,
                           const float *weight, const float *mean, const float *rstd, int N, int C,
                           cudaStream_t stream) {
    if (N == 0) { return cudaSuccess; }
    int parts = N < 512 ? N : 512;
    float *part;
    CUDA_CHECK(cudaMallocAsync(&part, (size_t)parts * 2 * C * sizeof(float), stream));
    rows<<<parts, 32, 0, stream>>>(dinp, part, dout, x, weight, mean, rstd, N, C);
    columns<<<(C + 127) / 128, 128, 0, stream>>>(dweight, dbias, part, parts, C);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaFreeAsync(part, stream));
    return cudaSuccess;
}
