// minifloat_kernels.cuh — one name for each format's conversions, and a function that passes an array through a kernel.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "test_minifloat.h"

template <class T> struct format;
template <> struct format<__half> {
    typedef __half2 pair;
    static __device__ __half of(uint16_t bits) { return __ushort_as_half(bits); }
    static __device__ uint16_t bits(__half x) { return __half_as_ushort(x); }
    static __device__ float widen(__half x) { return __half2float(x); }
    static __device__ __half narrow(float x, int rounding) {
        return rounding == ROUND_ZERO   ? __float2half_rz(x)
               : rounding == ROUND_UP   ? __float2half_ru(x)
               : rounding == ROUND_DOWN ? __float2half_rd(x)
                                        : __float2half_rn(x);
    }
    static __device__ __half narrow_double(double x) { return __double2half(x); }
#define TO(name, T)                                       \
    static __device__ T to_##name(__half x, int r) {      \
        return r == ROUND_ZERO   ? __half2##name##_rz(x)  \
               : r == ROUND_UP   ? __half2##name##_ru(x)  \
               : r == ROUND_DOWN ? __half2##name##_rd(x)  \
                                 : __half2##name##_rn(x); \
    }                                                     \
    static __device__ __half from_##name(T x, int r) {    \
        return r == ROUND_ZERO   ? __##name##2half_rz(x)  \
               : r == ROUND_UP   ? __##name##2half_ru(x)  \
               : r == ROUND_DOWN ? __##name##2half_rd(x)  \
                                 : __##name##2half_rn(x); \
    }
    TO(int, int)
    TO(uint, unsigned) TO(short, short) TO(ushort, unsigned short) TO(ll, long long) TO(ull, unsigned long long)
#undef TO
};
template <> struct format<__nv_bfloat16> {
    typedef __nv_bfloat162 pair;
    static __device__ __nv_bfloat16 of(uint16_t bits) { return __ushort_as_bfloat16(bits); }
    static __device__ uint16_t bits(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
    static __device__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
    static __device__ __nv_bfloat16 narrow(float x, int rounding) {
        return rounding == ROUND_ZERO   ? __float2bfloat16_rz(x)
               : rounding == ROUND_UP   ? __float2bfloat16_ru(x)
               : rounding == ROUND_DOWN ? __float2bfloat16_rd(x)
                                        : __float2bfloat16_rn(x);
    }
    static __device__ __nv_bfloat16 narrow_double(double x) { return __double2bfloat16(x); }
#define TO(name, T)                                           \
    static __device__ T to_##name(__nv_bfloat16 x, int r) {   \
        return r == ROUND_ZERO   ? __bfloat162##name##_rz(x)  \
               : r == ROUND_UP   ? __bfloat162##name##_ru(x)  \
               : r == ROUND_DOWN ? __bfloat162##name##_rd(x)  \
                                 : __bfloat162##name##_rn(x); \
    }                                                         \
    static __device__ __nv_bfloat16 from_##name(T x, int r) { \
        return r == ROUND_ZERO   ? __##name##2bfloat16_rz(x)  \
               : r == ROUND_UP   ? __##name##2bfloat16_ru(x)  \
               : r == ROUND_DOWN ? __##name##2bfloat16_rd(x)  \
                                 : __##name##2bfloat16_rn(x); \
    }
    TO(int, int)
    TO(uint, unsigned) TO(short, short) TO(ushort, unsigned short) TO(ll, long long) TO(ull, unsigned long long)
#undef TO
};

// Copies `in` over, runs launch(device out, device in), copies `out` back.
template <class Out, class In, class Launch>
int around(Out *out, size_t out_count, const In *in, size_t in_count, Launch launch) {
    In *device_in;
    Out *device_out;
    cudaMalloc(&device_in, in_count * sizeof *in);
    cudaMalloc(&device_out, out_count * sizeof *out);
    cudaMemcpy(device_in, in, in_count * sizeof *in, cudaMemcpyHostToDevice);
    launch(device_out, device_in);
    cudaError_t error = cudaMemcpy(out, device_out, out_count * sizeof *out, cudaMemcpyDeviceToHost);
    cudaFree(device_in);
    cudaFree(device_out);
    return error;
}

#define BLOCKS (count + 255) / 256, 256
