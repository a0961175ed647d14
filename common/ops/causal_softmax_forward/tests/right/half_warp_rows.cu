// step: step3  op: causal_softmax_forward_f32
// reason: Sub-warps of 16 lanes, a row each, with shuffles that name their own half only.
#include "ops/causal_softmax_forward/contract.h"

#include <cuda_runtime.h>
#include <math.h>

constexpr int WIDTH = 16;

template <typename Op> __device__ __forceinline__ float sub_warp_reduce(float v, unsigned mask, Op op) {
#pragma unroll
    for (int o = WIDTH >> 1; o; o >>= 1) v = op(v, __shfl_xor_sync(mask, v, o, WIDTH));
    return v;
}

__global__ void __launch_bounds__(96) rows16(float *__restrict__ y, const float *x, const int *__restrict__ lengths,
                                             int rows, int H, int T, float scale, int keep) {
    const int lane = threadIdx.x & (WIDTH - 1), half = (threadIdx.x & 31) / WIDTH;
    const unsigned mask = 0xffffu << (half * WIDTH);
    for (int row = blockIdx.x * (blockDim.x / WIDTH) + threadIdx.x / WIDTH; row < rows;
         row += gridDim.x * (blockDim.x / WIDTH)) {
        const int q = row % T;
        const int len = lengths ? __ldg(&lengths[row / T / H]) : T;
        const int keys = max(0, min(q + 1, len));
        const float *xr = x + (long)row * T;
        float *yr = y + (long)row * T;
        float m = -INFINITY;
        for (int j = lane; j < keys; j += WIDTH) m = fmaxf(m, xr[j] * scale);
        m = sub_warp_reduce(m, mask, [](float a, float b) { return fmaxf(a, b); });
        float s = 0.f;
        for (int j = lane; j < keys; j += WIDTH) s += __expf(xr[j] * scale - m);
        s = sub_warp_reduce(s, mask, [](float a, float b) { return a + b; });
        const float r = __fdividef(1.f, s);
        for (int j = lane; j < keys; j += WIDTH) yr[j] = __expf(xr[j] * scale - m) * r;
        for (int j = keys + lane, e = keep ? q + 1 : T; j < e; j += WIDTH) yr[j] = 0.f;
    }
}

int causal_softmax_forward_f32(float *out, const float *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    const int rows = B * H * T;
    if (!rows) return cudaSuccess;
    rows16<<<min((rows + 5) / 6, 4096), 96, 0, stream>>>(out, x, lengths, rows, H, T, scale, upper);
    return cudaPeekAtLastError();
}
