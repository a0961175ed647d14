// attention_tiles.cuh — copies of tiles, 64 rows of a head, between memory and shared memory, for fused attention
//
// A row in shared memory has P + 8 elements. P is 64 or 128: the head's channels, padded with zeros. The 8 more put the eight
// rows of a matrix into different banks.
#ifndef GPT2_ATTENTION_TILES_CUH
#define GPT2_ATTENTION_TILES_CUH

#include "gpt2/model/tensor_core.cuh"

#include <cuda_pipeline_primitives.h>

enum { tensor_tile = 64, tensor_threads = 128 }; // rows of a tile, threads of a block

// Rows first.. of (rows, D), with a row every `stride` elements, to (tensor_tile, P + 8) in shared memory. Missing rows and
// channels become zeros. whole: rows begin at multiples of 16 bytes, and D is a multiple of 8.
template <class T, int P>
__device__ inline void copy_tile(T *to, const T *from, int first, int rows, int D, int stride, bool whole) {
    constexpr int chunks = P / 8, step = tensor_threads / chunks;
    const int row = threadIdx.x / chunks, d = threadIdx.x % chunks * 8;
    T *place = to + row * (P + 8) + d;
    const T *source = from + (int64_t)(first + row) * stride + d;
    if (whole) {
        const int there = d < D ? rows - first - row : 0; // rows that exist, from this thread's first on
#pragma unroll
        for (int i = 0; i < tensor_tile; i += step) {
            copy_or_zero(place + i * (P + 8), source + i * stride, i < there);
        }
        return;
    }
    for (int i = 0; i < tensor_tile; i += step, place += step * (P + 8), source += step * stride) {
        for (int e = 0; e < 8; e++) {
            place[e] = first + row + i < rows && d + e < D ? source[e] : from_float<T>(0.0f);
        }
    }
}

// A warp's 16 M rows of a tile, as left factors.
template <class T, int P, int M> __device__ inline void load_rows(uint32_t (&to)[M][P / 16][4], const T *rows) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
        for (int c = 0; c < P / 16; c++) {
            load_matrices(to[m][c], rows + (16 * m + lane % 16) * (P + 8) + 16 * c + lane / 16 * 8);
        }
    }
}

// Back to rows first.. of (rows, D), with a row every `stride` elements. Missing rows and channels are not written.
template <class T, int P>
__device__ inline void store_tile(T *to, const T *tile, int first, int rows, int D, int stride, bool whole) {
    constexpr int chunks = P / 8;
    for (int i = threadIdx.x; i < tensor_tile * chunks; i += tensor_threads) {
        int row = i / chunks, d = i % chunks * 8;
        if (first + row >= rows || d >= D) { continue; }
        T *place = to + (int64_t)(first + row) * stride + d;
        const T *source = tile + row * (P + 8) + d;
        if (whole) {
            *(uint4 *)place = *(const uint4 *)source;
        } else {
            for (int e = 0; e < 8 && d + e < D; e++) { place[e] = source[e]; }
        }
    }
}

#endif
