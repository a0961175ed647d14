// causal_range.cuh — the columns of a row that a causal mask leaves, given
//
//   causal_range_of   of row n of (B, H, T, T): the columns 0 .. keys-1 are computed, 0 .. end-1 are written
//   warp_zeros        a warp writes zeros to the columns keys .. end-1
//   row_vec           16 bytes of a row
#ifndef CAUSAL_RANGE_CUH
#define CAUSAL_RANGE_CUH

#include "common/ops/types.h"
#include "reduce.cuh"
#include "vec.cuh"

struct causal_range {
    int keys, end;
};

__device__ inline causal_range causal_range_of(int n, const int *lengths, int H, int T_, int upper) {
    int i = n % T_, keys = i + 1;
    if (lengths) { keys = min(keys, max(lengths[n / T_ / H], 0)); }
    return {keys, upper == CAUSAL_UPPER_KEEP ? i + 1 : T_};
}

// The lanes of a warp write zeros to the columns begin .. end-1.
template <class T> __device__ inline void warp_zeros(T *out_row, int begin, int end, int lane) {
    // Four neighbours for each lane, so that the compiler can make one store of them.
    int quads = (end - begin) / 4;
    for (int q = lane; q < quads; q += warp_size) {
        for (int k = 0; k < 4; k++) { out_row[begin + 4 * q + k] = from_float<T>(0.0f); }
    }
}

// 16 bytes of an aligned row, from element j on; j is a multiple of vec<T>::size.
template <class T> __device__ inline vec<T> row_vec(const T *row, int j) {
    return ((const vec<T> *)row)[j / 4];
}

#endif
