// layernorm_vec.cuh — the arithmetic of LayerNorm for one vec of a row, given
//
//   vec_sum         the sum of its elements
//   vec_squares     the sum of their squared distances from the mean
//   vec_normalise   (x - mean) * rstd * weight + bias
//   vec_add         the sum of two vecs, rounded to T
//
// `count` elements of the row begin at the vec: at least vec<T>::size for every vec but the last, where it may be as low as
// 1. vec_load_part fills the rest of the last vec with 0.
#ifndef LAYERNORM_VEC_CUH
#define LAYERNORM_VEC_CUH

#include "arguments.cuh"
#include "vec.cuh"

template <class T> __device__ inline float vec_sum(const vec<T> &x) {
    float values[vec<T>::size], sum = 0.0f;
    vec_unpack(x, values);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { sum += values[i]; }
    return sum;
}

// Elements beyond the row are 0, which is not the mean: they must not be counted.
template <class T> __device__ inline float vec_squares(const vec<T> &x, float mean, int count) {
    float values[vec<T>::size], sum = 0.0f;
    vec_unpack(x, values);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { sum += i < count ? (values[i] - mean) * (values[i] - mean) : 0.0f; }
    return sum;
}

template <class T>
__device__ inline vec<T> vec_normalise(const vec<T> &x, float mean, float rstd, const vec<T> &weight,
                                       const vec<T> &bias) {
    float values[vec<T>::size], w[vec<T>::size], b[vec<T>::size];
    vec_unpack(x, values);
    vec_unpack(weight, w);
    vec_unpack(bias, b);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { values[i] = (values[i] - mean) * rstd * w[i] + b[i]; }
    vec<T> result;
    vec_pack(result, values);
    return result;
}

template <class T> __device__ inline vec<T> vec_add(const vec<T> &a, const vec<T> &b) {
    float x[vec<T>::size], y[vec<T>::size];
    vec_unpack(a, x);
    vec_unpack(b, y);
#pragma unroll
    for (int i = 0; i < vec<T>::size; i++) { x[i] += y[i]; }
    vec<T> sum;
    vec_pack(sum, x);
    return sum;
}

#endif
