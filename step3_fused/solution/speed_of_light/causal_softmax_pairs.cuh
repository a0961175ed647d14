// causal_softmax_pairs.cuh — causal softmax that leaves the upper triangle alone: a warp has two rows
//
// Half of a row is masked, neither read nor written. So a warp that has one row has few bytes on their way, and what
// every row costs (its start, its reductions, its end) weighs twice: 0.77 of a copy on an H200. Row j and row T-1-j
// together have T+1 keys, for every j: a warp takes both, with as many pieces in its registers as one row of T has:
//
//   slots, p * 32 + lane     0 ............ | ..... | ............ slots-1
//                            row j, forward | empty | row T-1-j, backward       both from their columns 0
//
// Each instruction reads neighbouring pieces, from a multiple of 512 bytes of a row on, whichever way round.
#ifndef SPEED_OF_LIGHT_CAUSAL_SOFTMAX_PAIRS_CUH
#define SPEED_OF_LIGHT_CAUSAL_SOFTMAX_PAIRS_CUH

#include "causal_pieces.cuh"

// Row j is the upper one, T-1-j the lower one. T is even: rows that are aligned to 16 bytes have whole pieces.
// The upper row has half of the slots at the most.
template <class T, int pieces> struct causal_pair {
    static constexpr int width = vec<T>::size, step = warp_size * width, upper_pieces = (pieces + 1) / 2;
    int matrix; // of (B * H)
    causal_row<width> upper, lower;
    size_t upper_start, lower_start;       // of the rows, elements
    int upper_first, lower_last;           // column of this lane's slot 0, in either row's order
    size_t cut_at;                         // this lane's element of a cut piece
    bool cut_upper, cut_keys, cut_written; // of the upper row? is it a key? is it written?

    __device__ causal_pair(int number, const int *lengths, int H, int C) {
        int pairs = C / 2, lane = threadIdx.x % warp_size;
        matrix = number / pairs;
        int j = number % pairs, length = lengths ? max(lengths[matrix / H], 0) : C;
        upper = causal_row<width>(min(j + 1, length), j + 1);
        lower = causal_row<width>(min(C - j, length), C - j);
        upper_start = ((size_t)matrix * C + j) * C, lower_start = ((size_t)matrix * C + C - 1 - j) * C;
        upper_first = lane * width, lower_last = pieces * step - width - upper_first;
        // Half of the lanes have the upper row's cut piece, the others have the lower row's.
        cut_upper = lane < warp_size / 2;
        int c = lane % (warp_size / 2) + (cut_upper ? upper.whole : lower.whole);
        cut_keys = lane % (warp_size / 2) < width && c < (cut_upper ? upper.keys : lower.keys);
        cut_written = c < min(cut_upper ? upper.zeros_from : lower.zeros_from, cut_upper ? upper.end : lower.end);
        cut_at = (cut_upper ? upper_start : lower_start) + c;
    }

    // The last element that is written of the row whose cut piece this lane has. Its sector of 32 bytes is written in part
    // and must be read for that: better now than when it leaves the L2.
    __device__ size_t last() const { return cut_upper ? upper_start + upper.end - 1 : lower_start + lower.end - 1; }

    // Of the slot p * warp_size + lane:
    __device__ bool in_upper(int p) const { return p < upper_pieces && upper_first < upper.whole - p * step; }
    __device__ bool has(int p) const { return in_upper(p) || lower_last < lower.whole + p * step; }
    template <class E> __device__ E *place(int p, E *tensor) const {
        E *in_lower = tensor + lower_start + lower_last - p * step;
        return in_upper(p) ? tensor + upper_start + upper_first + p * step : in_lower;
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
            loaded[p].load(pair.place(p, x));
        } else {
            loaded[p].fill(-INFINITY); // its exponential is 0
        }
    }
    return pair.cut_keys ? to_float(x[pair.cut_at]) : -INFINITY;
}

// Of a float2, x is the upper row's and y the lower row's.
template <class T, int pieces>
__device__ inline void causal_pair_softmax(T *out, piece<T, vec<T>::size> (&loaded)[pieces], float cut,
                                           const causal_pair<T, pieces> &pair, float scale) {
    constexpr int width = vec<T>::size;
    float value[pieces][width], cut_largest = fmaxf(cut, -FLT_MAX);
    float2 largest = make_float2(pair.cut_upper ? cut_largest : -FLT_MAX, pair.cut_upper ? -FLT_MAX : cut_largest);
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        float(&v)[width] = value[p];
        loaded[p].unpack(v);
        float most = v[0];
#pragma unroll
        for (int i = 1; i < width; i++) { most = fmaxf(most, v[i]); }
        if (pair.in_upper(p)) {
            largest.x = fmaxf(largest.x, most);
        } else {
            largest.y = fmaxf(largest.y, most);
        }
    }
    largest = warp_max2(largest); // of x: scale is above 0
    cut = exponential<T>(cut - (pair.cut_upper ? largest.x : largest.y), scale);
    float2 sum = make_float2(pair.cut_upper ? cut : 0.0f, pair.cut_upper ? 0.0f : cut);
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        float(&v)[width] = value[p];
        float row_largest = pair.in_upper(p) ? largest.x : largest.y, part = 0.0f;
#pragma unroll
        for (int i = 0; i < width; i++) {
            v[i] = exponential<T>(v[i] - row_largest, scale);
            part += v[i];
        }
        if (pair.in_upper(p)) {
            sum.x += part;
        } else {
            sum.y += part;
        }
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
        if (pair.has(p)) { loaded[p].store(pair.place(p, out)); }
    }
    if (pair.cut_written) { // 0 behind the last key: not 0 * NaN
        cut = pair.cut_keys ? cut * (pair.cut_upper ? factor.x : factor.y) : 0.0f;
        out[pair.cut_at] = from_float<T>(cut);
    }
}

// A later warp's rows start for the L2: bytes on their way that no register waits for. How much later: of the warps that
// run at a time, a quarter in fp32, three quarters in 16 bits: what is fetched too early has left the L2 when its warp comes.
template <class T> __device__ inline void causal_pair_prefetch(const T *x, int number, int pairs, int C) {
    if (number >= pairs || threadIdx.x % warp_size > 0) { return; }
    constexpr int width = vec<T>::size;
    int j = number % (C / 2);
    const T *matrix = x + (size_t)(number / (C / 2)) * C * C;
    prefetch_l2_bulk(matrix + (size_t)j * C, (j + width) / width * 16);
    prefetch_l2_bulk(matrix + (size_t)(C - 1 - j) * C, (C - j + width - 1) / width * 16);
}

// out may be x: every element is read before it is written, by the lane that writes it.
template <class T, int pieces, int teams, int resident>
__global__ void __launch_bounds__(warp_size *teams, resident)
    causal_softmax_pairs_kernel(T *out,             // (B, H, T, T)
                                const T *x,         // (B, H, T, T)
                                const int *lengths, // (B) or null
                                int pairs, int H, int C, float scale, int ahead) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    int number = blockIdx.x * teams + threadIdx.x / warp_size;
    if (teams > 1 && number >= pairs) { return; } // a whole warp
    causal_pair<T, pieces> pair(number, lengths, H, C);
    piece<T, vec<T>::size> loaded[pieces];
    float cut = causal_pair_load(loaded, x, pair);
    if (threadIdx.x % (warp_size / 2) == 0) { prefetch_l2(out + pair.last()); }
    causal_pair_prefetch(x, number + ahead, pairs, C);
    if (lengths) { // while the loads are on their way
        causal_row_zeros(out + pair.upper_start, pair.upper);
        causal_row_zeros(out + pair.lower_start, pair.lower);
    }
    causal_pair_softmax(out, loaded, cut, pair, scale);
}

template <class T, int pieces, int teams, int resident>
int causal_softmax_pairs(T *out, const T *x, const int *lengths, int N, int H, int C, float scale, int /*upper*/,
                         cudaStream_t stream) {
    int pairs = N / 2, at_a_time = multiprocessor_count() * teams * resident;
    int ahead = sizeof(T) == 4 ? at_a_time / 4 : at_a_time / 4 * 3;
    return launch({(unsigned)((pairs + teams - 1) / teams), warp_size * teams, 1, stream},
                  causal_softmax_pairs_kernel<T, pieces, teams, resident>, out, x, lengths, pairs, H, C, scale, ahead);
}

#endif
