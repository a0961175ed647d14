// causal_row.cuh — which columns of a row of (B, H, T, T) are read, computed and written, and by which thread
//
//   columns   0 ............ whole | ... keys ... | zeros_from .............. | ... end | ... T
//             computed, whole vecs | the cut vec  | zeros, whole vecs         | zeros   | neither read nor written
//
// The diagonal cuts one vec. One access of 16 bytes would read masked elements, and `width` accesses of one thread would
// keep 31 threads waiting. So `width` threads each take one element of it.
#ifndef SPEED_OF_LIGHT_CAUSAL_ROW_CUH
#define SPEED_OF_LIGHT_CAUSAL_ROW_CUH

#include "rows.cuh"

template <int width> struct causal_row {
    int keys, end;  // computed: 0 .. keys-1; written: 0 .. end-1
    int whole;      // keys, rounded down to whole vecs
    int zeros_from; // keys, rounded up
    causal_row() = default;
    __device__ causal_row(int keys, int end)
        : keys(keys), end(end), whole(keys / width * width), zeros_from((keys + width - 1) / width * width) {}
    __device__ causal_row(int n, const int *lengths, int H, int T_, int upper)
        : causal_row(lengths ? min(n % T_ + 1, max(lengths[n / T_ / H], 0)) : n % T_ + 1, upper ? n % T_ + 1 : T_) {}
    // The column of the cut vec that thread t computes, or -1.
    __device__ int cut(int t) const { return t < width && whole + t < keys ? whole + t : -1; }
};

// Writes the row: this thread has computed the vecs `result` (before `whole`) and the element `cut` of the cut vec. The
// zeros beside computed elements are written here too, by the same store instruction of the group.
template <class T, int width, int threads, int vecs>
__device__ inline void causal_store(T *to, vec_of<T, width> (&result)[vecs], float cut, int t,
                                    const causal_row<width> &row) {
    vec_of<T, width> zero = {}, cut_vec = {};
    bool gather = width > 1 && threads == warp_size && row.whole + width <= row.end;
    if (gather) { // the elements of the cut vec, so that one lane can store it
        float value[width];
#pragma unroll
        for (int i = 0; i < width; i++) { value[i] = __shfl_sync(all_lanes, cut, i); }
        cut_vec.pack(value);
        __syncwarp(); // all elements of the cut vec have been read: `to` may be `from`
    } else if (t < width && row.whole + t < min(row.zeros_from, row.end)) {
        to[row.whole + t] = from_float<T>(cut);
    }
    int whole = gather ? row.zeros_from : row.whole;
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        constexpr int step = threads * width;
        int c = p * step + t * width;
        if (p * step >= row.zeros_from) { continue; }
        if (p * step + step > row.whole) { // not all vecs of the group are computed
            if (c >= row.whole) { result[p] = c < row.zeros_from ? cut_vec : zero; }
            if (c >= whole && (c < row.zeros_from || c + width > row.end)) { continue; }
        }
        result[p].store(to + c);
    }
}

// The zeros that causal_store does not write. They do not depend on loaded values.
template <class T, int width, int threads, int vecs>
__device__ inline void causal_zeros(T *to, int t, const causal_row<width> &row) {
    vec_of<T, width> zero = {};
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        int c = (p * threads + t) * width;
        if (p * threads * width >= row.zeros_from && c + width <= row.end) { zero.store(to + c); }
    }
    int c = row.end / width * width + t; // the end of the row cuts a vec
    if (t < width && c >= row.zeros_from && c < row.end) { to[c] = from_float<T>(0.0f); }
}

#endif
