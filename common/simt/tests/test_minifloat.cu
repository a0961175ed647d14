// Half precision and bfloat16 in kernels: every conversion, on arrays.
#include "minifloat_kernels.cuh"

template <class T> __global__ void widen(float *out, const T *in, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = format<T>::widen(in[i]); }
}

template <class T> __global__ void narrow(T *out, const float *in, int count, int rounding) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = format<T>::narrow(in[i], rounding); }
}

template <class T> __global__ void narrow_double(T *out, const double *in, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = format<T>::narrow_double(in[i]); }
}

template <class T> __global__ void to_integer(int64_t *out, const T *in, int count, int integer, int rounding) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        switch (integer) {
            case INTEGER_INT: out[i] = format<T>::to_int(in[i], rounding); break;
            case INTEGER_UINT: out[i] = format<T>::to_uint(in[i], rounding); break;
            case INTEGER_SHORT: out[i] = format<T>::to_short(in[i], rounding); break;
            case INTEGER_USHORT: out[i] = format<T>::to_ushort(in[i], rounding); break;
            case INTEGER_LL: out[i] = format<T>::to_ll(in[i], rounding); break;
            default: out[i] = (int64_t)format<T>::to_ull(in[i], rounding); break;
        }
    }
}

template <class T> __global__ void from_integer(T *out, const int64_t *in, int count, int integer, int rounding) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        switch (integer) {
            case INTEGER_INT: out[i] = format<T>::from_int((int)in[i], rounding); break;
            case INTEGER_UINT: out[i] = format<T>::from_uint((unsigned)in[i], rounding); break;
            case INTEGER_SHORT: out[i] = format<T>::from_short((short)in[i], rounding); break;
            case INTEGER_USHORT: out[i] = format<T>::from_ushort((unsigned short)in[i], rounding); break;
            case INTEGER_LL: out[i] = format<T>::from_ll(in[i], rounding); break;
            default: out[i] = format<T>::from_ull((unsigned long long)in[i], rounding); break;
        }
    }
}

extern "C" int run_widen(int format, float *out, const uint16_t *in, int count) {
    return around(out, count, in, count, [&](float *o, uint16_t *i) {
        format == FORMAT_HALF ? widen<<<BLOCKS>>>(o, (const __half *)i, count)
                              : widen<<<BLOCKS>>>(o, (const __nv_bfloat16 *)i, count);
    });
}

extern "C" int run_narrow(int format, int rounding, uint16_t *out, const float *in, int count) {
    return around(out, count, in, count, [&](uint16_t *o, float *i) {
        format == FORMAT_HALF ? narrow<<<BLOCKS>>>((__half *)o, i, count, rounding)
                              : narrow<<<BLOCKS>>>((__nv_bfloat16 *)o, i, count, rounding);
    });
}

extern "C" int run_narrow_double(int format, uint16_t *out, const double *in, int count) {
    return around(out, count, in, count, [&](uint16_t *o, double *i) {
        format == FORMAT_HALF ? narrow_double<<<BLOCKS>>>((__half *)o, i, count)
                              : narrow_double<<<BLOCKS>>>((__nv_bfloat16 *)o, i, count);
    });
}

extern "C" int run_to_integer(int format, int integer, int rounding, int64_t *out, const uint16_t *in, int count) {
    return around(out, count, in, count, [&](int64_t *o, uint16_t *i) {
        format == FORMAT_HALF ? to_integer<<<BLOCKS>>>(o, (const __half *)i, count, integer, rounding)
                              : to_integer<<<BLOCKS>>>(o, (const __nv_bfloat16 *)i, count, integer, rounding);
    });
}

extern "C" int run_from_integer(int format, int integer, int rounding, uint16_t *out, const int64_t *in, int count) {
    return around(out, count, in, count, [&](uint16_t *o, int64_t *i) {
        format == FORMAT_HALF ? from_integer<<<BLOCKS>>>((__half *)o, i, count, integer, rounding)
                              : from_integer<<<BLOCKS>>>((__nv_bfloat16 *)o, i, count, integer, rounding);
    });
}

// Pairs from values and values from pairs: bit i of *wrong is set when check i fails.
__global__ void pairs_of_half(unsigned *wrong) {
    __half x = __float2half(1.5f), y = __float2half(-2.0f);
    __half2 v = __halves2half2(x, y), w = make_half2(y, x);
    float2 f = __half22float2(v);
    int n = 0;
#define CHECK(condition)                  \
    *wrong |= (condition) ? 0u : 1u << n; \
    n++
    CHECK(__low2float(v) == 1.5f && __high2float(v) == -2.0f);
    CHECK(f.x == 1.5f && f.y == -2.0f);
    CHECK(__half2float(__low2half(w)) == -2.0f && __half2float(__high2half(w)) == 1.5f);
    CHECK(__low2float(__half2half2(y)) == -2.0f && __high2float(__half2half2(y)) == -2.0f);
    CHECK(__low2float(__floats2half2_rn(3.0f, 4.0f)) == 3.0f && __high2float(__float2half2_rn(5.0f)) == 5.0f);
    CHECK(__high2float(__float22half2_rn(make_float2(6.0f, 7.0f))) == 7.0f);
    CHECK(__high2float(__low2half2(v)) == 1.5f && __low2float(__high2half2(v)) == -2.0f);
    CHECK(__high2float(__lows2half2(v, w)) == -2.0f && __low2float(__highs2half2(v, w)) == -2.0f);
    CHECK(__low2float(__lowhigh2highlow(v)) == -2.0f && __low2float(__hneg2(v)) == -1.5f);
    CHECK(__high2float(__habs2(v)) == 2.0f);
    CHECK(__half_as_short(__short_as_half(-7)) == -7 && sizeof(v) == 4);
    __half2 product = __hcmadd(v, w, v); // (1.5 - 2i)(-2 + 1.5i) + (1.5 - 2i)
    CHECK(__low2float(product) == 1.5f && __high2float(product) == 4.25f);
    __half converted = 3;
    converted = 2.5;
    CHECK((float)converted == 2.5f && (int)converted == 2 && (bool)converted);
}

__global__ void pairs_of_bfloat(unsigned *wrong) {
    __nv_bfloat16 x = __float2bfloat16(1.5f), y = __float2bfloat16(-2.0f);
    __nv_bfloat162 v = __halves2bfloat162(x, y), w = make_bfloat162(y, x);
    float2 f = __bfloat1622float2(v);
    int n = 0;
    CHECK(__low2float(v) == 1.5f && __high2float(v) == -2.0f);
    CHECK(f.x == 1.5f && f.y == -2.0f);
    CHECK(__bfloat162float(__low2bfloat16(w)) == -2.0f && __bfloat162float(__high2bfloat16(w)) == 1.5f);
    CHECK(__low2float(__bfloat162bfloat162(y)) == -2.0f && __high2float(__bfloat162bfloat162(y)) == -2.0f);
    CHECK(__low2float(__floats2bfloat162_rn(3.0f, 4.0f)) == 3.0f && __high2float(__float2bfloat162_rn(5.0f)) == 5.0f);
    CHECK(__high2float(__float22bfloat162_rn(make_float2(6.0f, 7.0f))) == 7.0f);
    CHECK(__high2float(__low2bfloat162(v)) == 1.5f && __low2float(__high2bfloat162(v)) == -2.0f);
    CHECK(__high2float(__lows2bfloat162(v, w)) == -2.0f && __low2float(__highs2bfloat162(v, w)) == -2.0f);
    CHECK(__low2float(__lowhigh2highlow(v)) == -2.0f);
    CHECK(__bfloat16_as_short(__short_as_bfloat16(-7)) == -7 && sizeof(v) == 4);
    __nv_bfloat16 converted = 3;
    converted = 2.5;
    CHECK((float)converted == 2.5f && (int)converted == 2 && (bool)converted);
}

extern "C" int run_pairs(int format) {
    unsigned wrong = 0;
    return around(&wrong, 1, &wrong, 1,
                  [&](unsigned *out, unsigned *in) {
                      cudaMemcpy(out, in, sizeof *in, cudaMemcpyDeviceToDevice);
                      format == FORMAT_HALF ? pairs_of_half<<<1, 1>>>(out) : pairs_of_bfloat<<<1, 1>>>(out);
                  })
               ? -1
               : (int)wrong;
}
