// step: step3  op: causal_softmax_forward_f16
// reason: half2 accesses with the row's odd beginning and end peeled off; sums in float.
#include "ops/causal_softmax_forward/contract.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

static __device__ __forceinline__ float wmax(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));
    return v;
}
static __device__ __forceinline__ float wsum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
    return v;
}

// visit(j) for single elements, visit2(j) for pairs at 4-byte boundaries
template <class One, class Two> static __device__ void walk(const __half *p, int n, int lane, One one, Two two) {
    int head = (int)(((uintptr_t)p >> 1) & 1);
    if (head > n) head = n;
    int pairs = (n - head) / 2;
    if (lane == 0 && head) one(0);
    for (int i = lane; i < pairs; i += 32) two(head + 2 * i);
    if (lane == 31 && head + 2 * pairs < n) one(n - 1);
}

__global__ void kernel(__half *out, const __half *x, const int *lengths, int N, int H, int T, float scale, int upper) {
    int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= N) return;
    int q = row % T, keys = q + 1;
    if (lengths) keys = min(keys, max(lengths[row / T / H], 0));
    const __half *xr = x + (size_t)row * T;
    __half *yr = out + (size_t)row * T;
    float m = -INFINITY, s = 0.f;
    walk(
        xr, keys, lane, [&](int j) { m = fmaxf(m, __half2float(xr[j]) * scale); },
        [&](int j) {
            float2 f = __half22float2(__ldg(reinterpret_cast<const __half2 *>(xr + j)));
            m = fmaxf(m, fmaxf(f.x * scale, f.y * scale));
        });
    m = wmax(m);
    walk(
        xr, keys, lane, [&](int j) { s += __expf(__half2float(xr[j]) * scale - m); },
        [&](int j) {
            float2 f = __half22float2(*reinterpret_cast<const __half2 *>(xr + j));
            s += __expf(f.x * scale - m) + __expf(f.y * scale - m);
        });
    s = 1.f / wsum(s);
    __syncwarp(); // out may be x: all have read
    for (int j = lane; j < keys; j += 32) yr[j] = __float2half(__expf(__half2float(xr[j]) * scale - m) * s);
    walk(
        yr + keys, (upper ? q + 1 : T) - keys, lane, [&](int j) { yr[keys + j] = __ushort_as_half(0); },
        [&](int j) { *reinterpret_cast<__half2 *>(yr + keys + j) = __float2half2_rn(0.f); });
}

int causal_softmax_forward_f16(__half *out, const __half *x, const int *lengths, int B, int H, int T, float scale,
                               int upper, cudaStream_t stream) {
    int N = B * H * T;
    if (N <= 0) return cudaSuccess;
    dim3 block(32, 8);
    kernel<<<(N + block.y - 1) / block.y, block, 0, stream>>>(out, x, lengths, N, H, T, scale, upper);
    return cudaGetLastError();
}
