// step: step3  op: causal_softmax_forward_bf16
// reason: A block per row, a power of two of columns at a time, masked loads with another value.
#include "ops/causal_softmax_forward/contract.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <int BLOCK, int THREADS> struct tile {
    float v[BLOCK / THREADS > 0 ? BLOCK / THREADS : 1];
    template <class F> __device__ void each(F f) {
#pragma unroll
        for (int i = 0; i < (int)(sizeof v / sizeof *v); i++) f(v[i], i * THREADS + (int)threadIdx.x);
    }
    template <class F> __device__ float reduce(float init, F f) {
        __shared__ float s[THREADS / 32];
        float r = init;
        each([&](float &e, int) { r = f(r, e); });
        for (int o = 1; o < 32; o <<= 1) r = f(r, __shfl_xor_sync(0xffffffffu, r, o));
        if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = r;
        __syncthreads();
        r = init;
        for (float e : s) r = f(r, e);
        __syncthreads();
        return r;
    }
};

template <int BLOCK>
__global__ void program(__nv_bfloat16 *out, const __nv_bfloat16 *x, const int *lengths, int H, int T, float scale,
                        int upper) {
    constexpr int THREADS = 128;
    int pid = blockIdx.x, q = pid % T;
    const __nv_bfloat16 *in = x + (long long)pid * T;
    __nv_bfloat16 *o = out + (long long)pid * T;
    int len = lengths ? lengths[pid / T / H] : T;
    tile<BLOCK, THREADS> t;
    t.each([&](float &e, int j) { e = j <= q && j < len ? scale * __bfloat162float(in[j]) : -INFINITY; });
    float m = t.reduce(-INFINITY, [](float a, float b) { return fmaxf(a, b); });
    t.each([&](float &e, int j) { e = j <= q && j < len ? expf(e - m) : 0.f; });
    float s = t.reduce(0.f, [](float a, float b) { return a + b; });
    t.each([&](float &e, int j) {
        bool write = upper == CAUSAL_UPPER_KEEP ? j <= q : j < T;
        if (write) o[j] = __float2bfloat16(j <= q && j < len ? e / s : 0.f);
    });
}

/* Rows of more than 4096 columns: read twice more instead of kept. */
__global__ void wide(__nv_bfloat16 *out, const __nv_bfloat16 *x, const int *lengths, int H, int T, float scale,
                     int upper) {
    constexpr int THREADS = 128;
    int pid = blockIdx.x, q = pid % T;
    const __nv_bfloat16 *in = x + (long long)pid * T;
    __nv_bfloat16 *o = out + (long long)pid * T;
    int len = lengths ? lengths[pid / T / H] : T, keys = len < q + 1 ? len : q + 1;
    tile<THREADS, THREADS> t;
    t.v[0] = -INFINITY;
    for (int j = threadIdx.x; j < keys; j += THREADS) t.v[0] = fmaxf(t.v[0], scale * __bfloat162float(in[j]));
    float m = t.reduce(-INFINITY, [](float a, float b) { return fmaxf(a, b); });
    t.v[0] = 0;
    for (int j = threadIdx.x; j < keys; j += THREADS) t.v[0] += expf(scale * __bfloat162float(in[j]) - m);
    float s = t.reduce(0.f, [](float a, float b) { return a + b; });
    for (int j = threadIdx.x; j < (upper == CAUSAL_UPPER_KEEP ? q + 1 : T); j += THREADS)
        o[j] = __float2bfloat16(j < keys ? expf(scale * __bfloat162float(in[j]) - m) / s : 0.f);
}

int causal_softmax_forward_bf16(__nv_bfloat16 *out, const __nv_bfloat16 *x, const int *lengths, int B, int H, int T,
                                float scale, int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (!N) return cudaSuccess;
    int block = 128;
    while (block < T) block *= 2;
#define LAUNCH(kernel) kernel<<<N, 128, 0, stream>>>(out, x, lengths, H, T, scale, upper)
    switch (block) {
        case 128: LAUNCH(program<128>); break;
        case 256: LAUNCH(program<256>); break;
        case 512: LAUNCH(program<512>); break;
        case 1024: LAUNCH(program<1024>); break;
        case 2048: LAUNCH(program<2048>); break;
        case 4096: LAUNCH(program<4096>); break;
        default: LAUNCH(wide);
    }
    return cudaGetLastError();
}
