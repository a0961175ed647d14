// softmax_row.cuh — a block finds a row's largest element, and the sum of exp(x - largest) over the row
#ifndef GPT2_SOFTMAX_ROW_CUH
#define GPT2_SOFTMAX_ROW_CUH

#include "gpt2/model/piece.cuh"

#include <cmath>

// The largest of, or the sum of, the threads' values; every thread gets it. shared: (threads / 32)
template <bool largest, int threads> __device__ inline float over_block(float value, float *shared) {
    constexpr int warp_size = 32, warps = threads / warp_size;
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, value, offset);
        value = largest ? fmaxf(value, other) : value + other;
    }
    if (threadIdx.x % warp_size == 0) { shared[threadIdx.x / warp_size] = value; }
    __syncthreads();
    value = shared[0];
    for (int w = 1; w < warps; w++) { value = largest ? fmaxf(value, shared[w]) : value + shared[w]; }
    __syncthreads();
    return value;
}

// exp(x) for x <= 0, in half the instructions of expf: the product's rounding costs 6e-8 |x| of the result.
__device__ inline float exp_of(float x) {
    return exp2f(1.44269504f * x);
}

struct row_sum {
    float largest, sum;
};

// Can rows of Vp elements be read as pieces?
inline bool rows_of_pieces(const float *rows, int Vp) {
    return (size_t)rows % 16 == 0 && Vp % piece<float>::size == 0;
}

// Of row (V), in one read: each thread keeps the largest element so far, and shortens its sum when a larger one comes.
// Four elements at a time, and four times that are on their way at once. shared: (threads / 32)
template <int threads> __device__ inline row_sum sum_row(const float *row, int V, bool of_pieces, float *shared) {
    constexpr int each = piece<float>::size, ahead = 4;
    float mine = -INFINITY, sum = 0.0f;
    for (int first = threadIdx.x * each; first < V; first += threads * each * ahead) {
        float x[ahead][each], most = -INFINITY;
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            const int at = first + i * threads * each;
            if (of_pieces && at + each <= V) {
                unpack(x[i], load_piece(row + at));
            } else {
                for (int e = 0; e < each; e++) { x[i][e] = at + e < V ? row[at + e] : -INFINITY; }
            }
        }
#pragma unroll
        for (int i = 0; i < ahead * each; i++) { most = fmaxf(most, x[i / each][i % each]); }
        if (most > mine) { // seldom
            sum *= exp_of(mine - most);
            mine = most;
        }
        const float from = mine > -INFINITY ? mine : 0.0f; // -inf - -inf is not a number
#pragma unroll
        for (int i = 0; i < ahead * each; i++) { sum += exp_of(x[i / each][i % each] - from); }
    }
    const float largest = over_block<true, threads>(mine, shared);
    sum = over_block<false, threads>(mine > -INFINITY ? sum * exp_of(mine - largest) : sum, shared);
    return {largest, sum};
}

#endif
