// step: step1  op: residual_forward
// reason: Uses what the compiler and CUDA turn into calls: bits, fast intrinsics, 128-bit integers and half
//         arithmetic, results through pointers.
#include "common/cuda_check.h"
#include "common/ops/residual_forward/contract.h"

#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

namespace cg = cooperative_groups;

/* 0, for any x and i that the compiler does not know. */
__device__ int nothing(float x, size_t i) {
    auto warp = cg::coalesced_threads();
    int odd = __popc((unsigned)i) > 32 || __popcll(i) > 64 || warp.size() > 32 || __clzll((long long)i) > 64;
    x = fminf(fmaxf(x, 1.0f), 2.0f);
    float fast =
        __logf(x) + __log2f(x) + __log10f(x) + __sinf(x) + __cosf(x) + __tanf(x) + __exp10f(x) + __powf(x, 2.0f);
    float s, c, s2, c2, whole;
    double ds, dc;
    int exponent, quotient;
    __sincosf(x, &s, &c);
    sincosf(x + 1, &s2, &c2);
    sincos((double)x, &ds, &dc);
    fast += s + c + s2 + c2 + (float)(ds + dc) + sinf(x + 2) + cosf(x + 2) + tanf(x);
    fast += frexpf(x, &exponent) + modff(x, &whole) + remquof(x, 3.0f, &quotient);
    fast += (float)(exponent + quotient) + whole;
    unsigned __int128 wide = (unsigned __int128)i * i + 5;
    wide = wide / (i + 3) + wide % (i + 7) + (unsigned __int128)x;
    __half h = __float2half(x);
    fast += __half2float(h * h) + (float)wide;
    odd |= isnan(fast) || __isGlobal(&exponent);
    return odd;
}

__global__ void add(float *__restrict__ out, const float *__restrict__ x, const float *residual, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) { return; }
    const float *aligned = (const float *)__builtin_assume_aligned(x, 4);
    float value = aligned[i];
    switch (nothing(value, i)) {
        case 0: out[i] = value + residual[i]; break;
        case 1: out[i] = 0; break;
        default: __builtin_unreachable();
    }
}

int residual_forward_f32(float *out, const float *x, const float *residual, int N, int C, cudaStream_t stream) {
    const size_t count = (size_t)N * C;
    if (count == 0) { return cudaSuccess; }
    add<<<(unsigned)((count - 1) / 256 + 1), 256, 0, stream>>>(out, x, residual, count);
    CUDA_CHECK(cudaGetLastError());
    return cudaSuccess;
}
