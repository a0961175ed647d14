// vec.cuh — 16 bytes of any element type as one value: 4 floats, or 8 elements of a 16-bit type
//
// A thread that loads 16 bytes with one instruction needs a quarter (fp32) or an eighth (fp16, bf16) of the instructions, and
// has 4 or 8 times as many bytes in flight. The arithmetic stays in fp32: a vec is unpacked after loading, and packed with one
// rounding before storing.
//
//   vec<T>, vec<T>::size             16 bytes; the number of elements in them
//   vec_load, vec_store              one access; the address must be a multiple of 16 bytes
//   vec_load_once, vec_store_once    the same with a streaming hint: this data is not used again soon, evict it first
//   vec_load_part, vec_store_part    element by element: any address, or the last, incomplete vec of a row
//                                    with (..., count, aligned): one access if `aligned`, else by element
//   vec_unpack, vec_pack             to and from an array of vec<T>::size floats
//   to_float, from_float             one element: common/to_float.cuh
//   vec_aligned, rows_aligned        is this pointer, is every row of these tensors aligned for vec_load?
#ifndef VEC_CUH
#define VEC_CUH

#include "common/to_float.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <initializer_list>
#include <string.h>

template <class T> struct vec {
    static constexpr int size = 16 / sizeof(T);
    uint4 bits;
};

// ---- 16 bytes ----

inline __host__ __device__ bool vec_aligned(const void *pointer) {
    return (size_t)pointer % 16 == 0;
}

// On the host: rows of C elements, in each tensor.
template <class T> bool rows_aligned(int C, std::initializer_list<const void *> tensors) {
    bool aligned = C % vec<T>::size == 0;
    for (const void *tensor : tensors) { aligned = aligned && vec_aligned(tensor); }
    return aligned;
}

template <class T> __device__ inline vec<T> vec_load(const T *from) {
    return {*(const uint4 *)from};
}
template <class T> __device__ inline vec<T> vec_load_once(const T *from) {
    return {__ldcs((const uint4 *)from)};
}
template <class T> __device__ inline void vec_store(T *to, const vec<T> &value) {
    *(uint4 *)to = value.bits;
}
template <class T> __device__ inline void vec_store_once(T *to, const vec<T> &value) {
    __stcs((uint4 *)to, value.bits);
}

// ---- the elements of a vec as floats ----

// A register holds two 16-bit elements, the first one in its lower half.
template <class T> __device__ inline float2 pair_unpack(unsigned bits);
template <> __device__ inline float2 pair_unpack<__half>(unsigned bits) {
    __half2 pair;
    memcpy(&pair, &bits, sizeof pair);
    return __half22float2(pair);
}
template <> __device__ inline float2 pair_unpack<__nv_bfloat16>(unsigned bits) {
    return make_float2(__uint_as_float(bits << 16), __uint_as_float(bits & 0xffff0000u)); // the upper half of a float
}

template <class T> __device__ inline unsigned pair_pack(float first, float second);
template <> __device__ inline unsigned pair_pack<__half>(float first, float second) {
    __half2 pair = __floats2half2_rn(first, second);
    unsigned bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
}
template <> __device__ inline unsigned pair_pack<__nv_bfloat16>(float first, float second) {
    __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
    unsigned bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
}

__device__ inline void vec_unpack(const vec<float> &value, float *to) { // (4)
    to[0] = __uint_as_float(value.bits.x), to[1] = __uint_as_float(value.bits.y);
    to[2] = __uint_as_float(value.bits.z), to[3] = __uint_as_float(value.bits.w);
}
template <class T> __device__ inline void vec_unpack(const vec<T> &value, float *to) { // (8)
    float2 a = pair_unpack<T>(value.bits.x), b = pair_unpack<T>(value.bits.y);
    float2 c = pair_unpack<T>(value.bits.z), d = pair_unpack<T>(value.bits.w);
    to[0] = a.x, to[1] = a.y, to[2] = b.x, to[3] = b.y;
    to[4] = c.x, to[5] = c.y, to[6] = d.x, to[7] = d.y;
}

__device__ inline void vec_pack(vec<float> &value, const float *from) { // (4)
    value.bits = make_uint4(__float_as_uint(from[0]), __float_as_uint(from[1]), __float_as_uint(from[2]),
                            __float_as_uint(from[3]));
}
template <class T> __device__ inline void vec_pack(vec<T> &value, const float *from) { // (8)
    value.bits = make_uint4(pair_pack<T>(from[0], from[1]), pair_pack<T>(from[2], from[3]),
                            pair_pack<T>(from[4], from[5]), pair_pack<T>(from[6], from[7]));
}

// ---- element by element: `count` elements, 0 <= count <= size; the others become 0 and are not written ----

template <class T> __device__ inline vec<T> vec_load_part(const T *from, int count) {
    float values[vec<T>::size];
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { values[i] = i < count ? to_float(from[i]) : 0.0f; }
    vec<T> result;
    vec_pack(result, values);
    return result;
}

template <class T> __device__ inline void vec_store_part(T *to, const vec<T> &value, int count) {
    float values[vec<T>::size];
    vec_unpack(value, values);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) {
        if (i < count) { to[i] = from_float<T>(values[i]); }
    }
}

// One access if `aligned`: the address is a multiple of 16 bytes, and the vec is complete.
template <class T> __device__ inline vec<T> vec_load(const T *from, int count, bool aligned) {
    return aligned ? vec_load(from) : vec_load_part(from, count);
}
template <class T> __device__ inline void vec_store(T *to, const vec<T> &value, int count, bool aligned) {
    if (aligned) {
        vec_store(to, value);
    } else {
        vec_store_part(to, value, count);
    }
}

#endif
