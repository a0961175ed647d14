// elements.cuh — one element of any type as a float, and back; and the blocks of a launch with one thread per element
#ifndef NAIVE_ELEMENTS_CUH
#define NAIVE_ELEMENTS_CUH

#include "common/cuda_check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <limits.h>
#include <math.h>

enum { threads_per_block = 128 };

inline bool launchable(long long threads) {
    return threads >= 0 && threads <= (long long)INT_MAX;
}
inline unsigned blocks_for(long long threads) {
    return (unsigned)((threads + threads_per_block - 1) / threads_per_block);
}

__device__ inline float to_float(float value) {
    return value;
}
__device__ inline float to_float(__half value) {
    return __half2float(value);
}
__device__ inline float to_float(__nv_bfloat16 value) {
    return __bfloat162float(value);
}

template <class T> __device__ inline T from_float(float value) {
    return value;
}
template <> __device__ inline __half from_float<__half>(float value) {
    return __float2half_rn(value);
}
template <> __device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
    return __float2bfloat16_rn(value);
}

#endif
