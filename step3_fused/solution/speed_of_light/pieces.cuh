// pieces.cuh — a row in registers: each thread of a row's team holds some pieces of it
//
//   piece<T, width>    `width` neighbouring elements, loaded by one access: 16 bytes, or one element where a pointer or a
//                      row is not aligned to 16 bytes. Same kernels, same results, more accesses. Plain accesses:
//                      the streaming hints of vec_load_once made nearly all of these kernels slower on an H200
//   exponential<T>     exp, as exact as T can show
//   softmax_part       what is known of a part of a row; merging two of them, a warp's, a block's or a cluster's
#ifndef PIECES_CUH
#define PIECES_CUH

#include "../arguments.cuh"
#include "../reduce.cuh"
#include "../vec.cuh"
#include "common/hopper.cuh"

#include <float.h>

template <class T, int width> struct piece {
    static_assert(width == vec<T>::size, "16 bytes");
    vec<T> content;
    __device__ void load(const T *from) { content = vec_load(from); }
    __device__ void store(T *to) const { vec_store(to, content); }
    __device__ void unpack(float *to) const { vec_unpack(content, to); }
    __device__ void pack(const float *from) { vec_pack(content, from); }
    __device__ void fill(float value) {
        float values[width];
#pragma unroll
        for (int i = 0; i < width; i++) { values[i] = value; }
        pack(values);
    }
};

template <class T> struct piece<T, 1> {
    T content;
    __device__ void load(const T *from) { content = *from; }
    __device__ void store(T *to) const { *to = content; }
    __device__ void unpack(float *to) const { *to = to_float(content); }
    __device__ void pack(const float *from) { content = from_float<T>(*from); }
    __device__ void fill(float value) { content = from_float<T>(value); }
};

// Can rows of C elements from these pointers be read 16 bytes at a time?
template <class T> bool rows_aligned(int C, const void *a, const void *b, const void *c = nullptr) {
    return C % vec<T>::size == 0 && vec_aligned(a) && vec_aligned(b) && vec_aligned(c);
}

// exp(scale * x), scale the same for a whole row. A 16-bit result keeps 11 bits at the most: the one-instruction
// exponential, 22 bits, is exact enough.
template <class T> __device__ inline float exponential(float x, float scale = 1.0f) {
    return fast_exp2(x * (scale * 1.4426950408889634f));
}
template <> __device__ inline float exponential<float>(float x, float scale) {
    return expf(x * scale);
}

// value / sum, given 1 / sum: fp32 takes two more instructions to round once instead of twice.
template <class T> __device__ inline float quotient(float value, float /*sum*/, float reciprocal) {
    return value * reciprocal;
}
template <> __device__ inline float quotient<float>(float value, float sum, float reciprocal) {
    float result = value * reciprocal;
    return fmaf(fmaf(-result, sum, value), reciprocal, result);
}

// The largest element and the sum of exp(x - largest). `largest` starts at the lowest finite number: a part may be all
// -inf while the row is not, and -inf - -inf would be NaN.
struct softmax_part {
    float largest, sum;
};

template <class T> __device__ inline softmax_part softmax_merge(softmax_part a, softmax_part b) {
    float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * exponential<T>(a.largest - largest) + b.sum * exponential<T>(b.largest - largest)};
}

template <class T> __device__ inline softmax_part warp_softmax_merge(softmax_part part, int lanes, float scale = 1.0f) {
    float largest = part.largest;
#pragma unroll
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        if (offset < lanes) { largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, offset)); }
    }
    float sum = part.sum * exponential<T>(part.largest - largest, scale);
#pragma unroll
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        if (offset < lanes) { sum += __shfl_xor_sync(all_lanes, sum, offset); }
    }
    return {largest, sum};
}

// The parts of `warps` warps become the block's, with one barrier; every lane of a warp gives the same part.
// shared: (2, warps), turn: 0, 1, 2, ... in a kernel.
template <class T, int warps>
__device__ inline softmax_part block_softmax_merge(softmax_part part, float2 *shared, int turn = 0,
                                                   float scale = 1.0f) {
    if (warps == 1) { return part; }
    shared += turn % 2 * warps;
    int lane = threadIdx.x % warp_size;
    if (lane == 0) { shared[threadIdx.x / warp_size] = make_float2(part.largest, part.sum); }
    __syncthreads();
    float2 mine = shared[lane % warps];
    return warp_softmax_merge<T>({mine.x, mine.y}, warps, scale);
}

// The same for the blocks of a cluster; shared: (2, size).
template <class T, int size>
__device__ inline softmax_part cluster_softmax_merge(softmax_part part, float2 *shared, int turn = 0) {
    if constexpr (size > 1) {
        float2 mine = cluster_share<size>(make_float2(part.largest, part.sum), shared, turn);
        part = warp_softmax_merge<T>({mine.x, mine.y}, size);
    }
    return part;
}

// A sum and a maximum over a block in the same way, from a value that is the same in a warp. shared: (2, warps).
template <int warps> __device__ inline float block_sum_turn(float value, float *shared, int turn = 0) {
    if (warps == 1) { return value; }
    shared += turn % 2 * warps;
    int lane = threadIdx.x % warp_size;
    if (lane == 0) { shared[threadIdx.x / warp_size] = value; }
    __syncthreads();
    return warp_sum(lane < warps ? shared[lane] : 0.0f);
}

template <int warps> __device__ inline float block_max_turn(float value, float *shared, int turn = 0) {
    if (warps == 1) { return value; }
    shared += turn % 2 * warps;
    int lane = threadIdx.x % warp_size;
    if (lane == 0) { shared[threadIdx.x / warp_size] = value; }
    __syncthreads();
    return warp_max(shared[lane % warps]);
}

template <int size> __device__ inline float cluster_sum(float value, float2 *shared, int turn = 0) {
    if constexpr (size > 1) {
        value = cluster_share<size>(make_float2(value, 0.0f), shared, turn).x;
        value = warp_sum((int)threadIdx.x % warp_size < size ? value : 0.0f);
    }
    return value;
}

#endif
