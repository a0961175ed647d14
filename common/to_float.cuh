// to_float.cuh — conversions between the three types and float, rounding to nearest even
#ifndef TO_FLOAT_CUH
#define TO_FLOAT_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__host__ __device__ inline float to_float(float value) {
    return value;
}
__host__ __device__ inline float to_float(__half value) {
    return __half2float(value);
}
__host__ __device__ inline float to_float(__nv_bfloat16 value) {
    return __bfloat162float(value);
}

template <class T> __host__ __device__ inline T from_float(float value) {
    return value;
}
template <> __host__ __device__ inline __half from_float<__half>(float value) {
    return __float2half_rn(value);
}
template <> __host__ __device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
    return __float2bfloat16_rn(value);
}

#endif
