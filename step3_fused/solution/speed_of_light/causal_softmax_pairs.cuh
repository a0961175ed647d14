// causal_softmax_pairs.cuh — causal softmax that leaves the upper triangle alone: a warp has two rows
//
// Half of a row is masked, neither read nor written, so a warp that has one row has few bytes on their way, and what every
// row costs (its start, its reductions, its end) weighs twice: 0.77 of a copy on an H200. Row j and row T-1-j together
// have T+1 keys, for every j. So a warp takes both, with as many pieces in its registers as one row of T has:
//
//   slots, p * 32 + lane     0 ............ | ..... | ............ slots-1
//                            row j, forward | empty | row T-1-j, backward       both from their columns 0
//
// Each instruction reads neighbouring pieces, from a multiple of 512 bytes of a row on, whichever way round.
#ifndef SPEED_OF_LIGHT_CAUSAL_SOFTMAX_PAIRS_CUH
#define SPEED_OF_LIGHT_CAUSAL_SOFTMAX_PAIRS_CUH

#include "causal_pieces.cuh"

// Row j is the upper one, T-1-j the lower one. T is even: rows that are aligned to 16 bytes have whole pieces.
template <class T, int pieces> struct causal_pair {
    static constexpr int width = vec<T>::size, step = warp_size * width;
    size_t matrix;                // its first element
    int upper_start, lower_start; // of the rows in the matrix
    int first, last;              // columns of this lane's first piece in the upper row, last in the lower one
    causal_row<width> upper, lower;
    int cut_keys, cut_written; // this lane's part of a cut piece: is it a key, is it written?
    int cut_at;                // where in the matrix

    __device__ causal_pair(int number, const int *lengths, int H, int C) : upper(0, 0), lower(0, 0) {
        int pairs = C / 2, j = number % pairs, lane = threadIdx.x % warp_size;
        int length = lengths ? max(lengths[number / pairs / H], 0) : C;
        matrix = (size_t)(number / pairs) * C * C;
        upper_start = j * C, lower_start = (C - 1 - j) * C;
        first = lane * width, last = pieces * step - width - first;
        upper = causal_row<width>(min(j + 1, length), j + 1);
        lower = causal_row<width>(min(C - j, length), C - j);
        // The lower half of the lanes has the upper row's cut piece, the others have the lower row's.
        int t = lane % (warp_size / 2), whole = cuts_upper() ? upper.whole : lower.whole;
        int keys = cuts_upper() ? upper.keys : lower.keys, end = cuts_upper() ? upper.end : lower.end;
        cut_keys = t < width && whole + t < keys;
        cut_written = t < width && whole + t < end && whole < keys;
        cut_at = (cuts_upper() ? upper_start : lower_start) + whole + t;
    }

    __device__ bool cuts_upper() const { return threadIdx.x % warp_size < warp_size / 2; }
    // Of the slot p * warp_size + lane:
    __device__ bool in_upper(int p) const { return first + p * step < upper.whole; }
    __device__ bool in_lower(int p) const { return last - p * step < lower.whole; }
    __device__ bool has(int p) const { return in_upper(p) || in_lower(p); }
    __device__ int at(int p) const {
        return in_upper(p) ? upper_start + first + p * step : lower_start + last - p * step;
    }
};

// The zeros of a row behind its cut piece, from column zeros_from on: there are some if there are lengths.
template <class T, int width> __device__ inline void causal_row_zeros(T *to, const causal_row<width> &row) {
    constexpr int step = warp_size * width;
    piece<T, width> zero = {};
    int lane = threadIdx.x % warp_size;
    for (int c = row.zeros_from / step * step + lane * width; c + width <= row.end; c += step) {
        if (c >= row.zeros_from) { zero.store(to + c); }
    }
    int c = row.end / width * width + lane; // the end cuts a piece
    if (lane < width && c >= row.zeros_from && c < row.end) { to[c] = from_float<T>(0.0f); }
}

__device__ inline float2 warp_max2(float2 value) {
#pragma unroll
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        value.x = fmaxf(value.x, __shfl_xor_sync(all_lanes, value.x, offset));
        value.y = fmaxf(value.y, __shfl_xor_sync(all_lanes, value.y, offset));
    }
    return value;
}
__device__ inline float2 warp_sum2(float2 value) {
#pragma unroll
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        value.x += __shfl_xor_sync(all_lanes, value.x, offset);
        value.y += __shfl_xor_sync(all_lanes, value.y, offset);
    }
    return value;
}

// This lane's pieces, and its part of a cut piece.
template <class T, int pieces>
__device__ inline float causal_pair_load(piece<T, vec<T>::size> (&loaded)[pieces], const T *x,
                                         const causal_pair<T, pieces> &pair) {
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        if (pair.has(p)) {
            loaded[p].load(x + pair.matrix + pair.at(p));
        } else {
            loaded[p].fill(-INFINITY); // its exponential is 0
        }
    }
    return pair.cut_keys ? to_float(x[pair.matrix + pair.cut_at]) : -INFINITY;
}

// Of a float2, x is the upper row's and y the lower row's.
template <class T, int pieces>
__device__ inline void causal_pair_softmax(T *out, piece<T, vec<T>::size> (&loaded)[pieces], float cut,
                                           const causal_pair<T, pieces> &pair, float scale) {
    constexpr int width = vec<T>::size;
    bool cuts_upper = pair.cuts_upper();
    float value[pieces][width], cut_largest = fmaxf(cut, -FLT_MAX);
    float2 largest = make_float2(cuts_upper ? cut_largest : -FLT_MAX, cuts_upper ? -FLT_MAX : cut_largest);
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        float(&v)[width] = value[p];
        loaded[p].unpack(v);
        float most = v[0];
#pragma unroll
        for (int i = 1; i < width; i++) { most = fmaxf(most, v[i]); }
        float &row = pair.in_upper(p) ? largest.x : largest.y;
        row = fmaxf(row, most);
    }
    largest = warp_max2(largest); // of x: scale is above 0
    cut = exponential<T>(cut - (cuts_upper ? largest.x : largest.y), scale);
    float2 sum = make_float2(cuts_upper ? cut : 0.0f, cuts_upper ? 0.0f : cut);
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        float(&v)[width] = value[p];
        float row_largest = pair.in_upper(p) ? largest.x : largest.y, part = 0.0f;
#pragma unroll
        for (int i = 0; i < width; i++) {
            v[i] = exponential<T>(v[i] - row_largest, scale);
            part += v[i];
        }
        float &row = pair.in_upper(p) ? sum.x : sum.y;
        row += part;
    }
    sum = warp_sum2(sum);
    float2 factor = make_float2(1.0f / sum.x, 1.0f / sum.y);
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        float(&v)[width] = value[p];
        float row_sum = pair.in_upper(p) ? sum.x : sum.y, row_factor = pair.in_upper(p) ? factor.x : factor.y;
#pragma unroll
        for (int i = 0; i < width; i++) { v[i] = quotient<T>(v[i], row_sum, row_factor); }
        loaded[p].pack(v);
        if (pair.has(p)) { loaded[p].store(out + pair.matrix + pair.at(p)); }
    }
    if (pair.cut_written) { // 0 behind the last key: not 0 * NaN
        cut = pair.cut_keys ? cut * (cuts_upper ? factor.x : factor.y) : 0.0f;
        out[pair.matrix + pair.cut_at] = from_float<T>(cut);
    }
}

// out may be x: every element is read before it is written, by the lane that writes it.
template <class T, int pieces, int teams, int resident>
__global__ void __launch_bounds__(warp_size *teams, resident)
    causal_softmax_pairs_kernel(T *out,             // (B, H, T, T)
                                const T *x,         // (B, H, T, T)
                                const int *lengths, // (B) or null
                                int pairs, int H, int C, float scale) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    int number = blockIdx.x * teams + threadIdx.x / warp_size;
    if (teams > 1 && number >= pairs) { return; } // a whole warp
    causal_pair<T, pieces> pair(number, lengths, H, C);
    piece<T, vec<T>::size> loaded[pieces];
    float cut = causal_pair_load(loaded, x, pair);
    causal_row_zeros(out + pair.matrix + pair.upper_start, pair.upper); // while the loads are on their way
    causal_row_zeros(out + pair.matrix + pair.lower_start, pair.lower);
    causal_pair_softmax(out, loaded, cut, pair, scale);
}

template <class T, int pieces, int teams, int resident>
int causal_softmax_pairs(T *out, const T *x, const int *lengths, int N, int H, int C, float scale, int /*upper*/,
                         cudaStream_t stream) {
    int pairs = N / 2;
    return launch({(unsigned)((pairs + teams - 1) / teams), warp_size * teams, 1, stream},
                  causal_softmax_pairs_kernel<T, pieces, teams, resident>, out, x, lengths, pairs, H, C, scale);
}

#endif
