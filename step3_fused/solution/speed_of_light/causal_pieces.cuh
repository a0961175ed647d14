// causal_pieces.cuh — which part of a row of (B, H, T, T) is read, computed and written, and by whom
//
//   columns   0 ............ whole | ... keys ... | zeros_from ............ zeros_to | ... end | ... T
//             computed, pieces     | the cut      | zeros, pieces                    | zeros   | not touched
//             of 16 bytes          | piece        |                                  |         |
//
// The piece that the diagonal cuts is not read by one access of one thread (that would read what is masked) nor by
// `width` accesses of one thread while 31 wait: each of `width` threads takes one element of it.
#ifndef CAUSAL_PIECES_CUH
#define CAUSAL_PIECES_CUH

#include "pieces.cuh"

template <int width> struct causal_row {
    int keys, end;  // computed: 0 .. keys-1; written: 0 .. end-1
    int whole;      // keys, rounded down to pieces
    int zeros_from; // keys, rounded up
    causal_row() = default;
    __device__ causal_row(int keys, int end)
        : keys(keys), end(end), whole(keys / width * width), zeros_from((keys + width - 1) / width * width) {}
    __device__ causal_row(int n, const int *lengths, int H, int T_, int upper)
        : causal_row(lengths ? min(n % T_ + 1, max(lengths[n / T_ / H], 0)) : n % T_ + 1, upper ? n % T_ + 1 : T_) {}
    // The column of the cut piece that thread t computes, or -1.
    __device__ int cut(int t) const { return t < width && whole + t < keys ? whole + t : -1; }
};

// Writes a row of which this thread has computed `result[p]` (pieces before `whole`) and `cut`: pieces with at least one
// computed element are written here together with the zeros beside them, by the same store instruction of the team.
template <class T, int width, int threads, int pieces>
__device__ inline void causal_store(T *to, piece<T, width> (&result)[pieces], float cut, int t,
                                    const causal_row<width> &row) {
    piece<T, width> zero = {}, cut_piece = {};
    bool gather = width > 1 && threads == warp_size && row.whole + width <= row.end;
    if (gather) { // the elements come together again
        float value[width];
#pragma unroll
        for (int i = 0; i < width; i++) { value[i] = __shfl_sync(all_lanes, cut, i); }
        cut_piece.pack(value);
        __syncwarp(); // every lane has read its element of what one lane is about to write: `to` may be `from`
    } else if (t < width && row.whole + t < min(row.zeros_from, row.end)) {
        to[row.whole + t] = from_float<T>(cut);
    }
    int whole = gather ? row.zeros_from : row.whole;
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        constexpr int step = threads * width;
        int c = p * step + t * width;
        if (p * step >= row.zeros_from) { continue; }
        if (p * step + step > row.whole) { // not all of the team's pieces are computed
            if (c >= row.whole) { result[p] = c < row.zeros_from ? cut_piece : zero; }
            if (c >= whole && (c < row.zeros_from || c + width > row.end)) { continue; }
        }
        result[p].store(to + c);
    }
}

// The zeros that causal_store does not write: they need nothing that was loaded.
template <class T, int width, int threads, int pieces>
__device__ inline void causal_zeros(T *to, int t, const causal_row<width> &row) {
    piece<T, width> zero = {};
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        int c = (p * threads + t) * width;
        if (p * threads * width >= row.zeros_from && c + width <= row.end) { zero.store(to + c); }
    }
    int c = row.end / width * width + t; // the end cuts a piece
    if (t < width && c >= row.zeros_from && c < row.end) { to[c] = from_float<T>(0.0f); }
}

#endif
