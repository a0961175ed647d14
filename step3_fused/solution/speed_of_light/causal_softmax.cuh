// causal_softmax.cuh — scale, causal mask and softmax at speed of light
//
// Masked elements are not read. Zeros that do not depend on x are stored while the loads are in flight. A launch on an H200
// starts about 820 blocks in a microsecond, so a block has two or more short rows. Where the upper triangle is neither read
// nor written, a warp has two rows.
//
//   causal_softmax_rows_kernel    a group of threads has a row: a warp, or a block
//   causal_softmax_pairs_kernel   a warp has two rows
//   causal_softmax_speed_of_light chooses
#ifndef SPEED_OF_LIGHT_CAUSAL_SOFTMAX_CUH
#define SPEED_OF_LIGHT_CAUSAL_SOFTMAX_CUH

#include "causal_row.cuh"
#include "launch.cuh"

#include <limits.h>

// out may be x: every element is read before it is written, by the thread that writes it or before a shuffle.
// groups: of `threads` threads, in a block. resident: blocks that a multiprocessor holds. recompute: the exponentials are
// computed twice instead of kept, which halves the registers of a 16-bit row.
template <class T, int width, int threads, int vecs, int groups, int resident, bool recompute>
__global__ void __launch_bounds__(threads *groups, resident)
    causal_softmax_rows_kernel(T *out,             // (B, H, T, T)
                               const T *x,         // (B, H, T, T)
                               const int *lengths, // (B) or null
                               int N, int H, int C, float scale, int upper) {
    __shared__ float2 warp_parts[2 * threads / warp_size];
    wait_for_previous_kernel();
    let_next_kernel_start();
    int n = blockIdx.x * groups + threadIdx.x / threads, t = threadIdx.x % threads;
    if (groups > 1 && n >= N) { return; } // a whole warp
    causal_row<width> row(n, lengths, H, C, upper);
    const T *x_row = x + (size_t)n * C; // (T)
    T *out_row = out + (size_t)n * C;   // (T)
    constexpr int step = threads * width;

    vec_of<T, width> loaded[vecs];
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (p * step >= row.whole) { continue; } // the whole group
        int c = p * step + t * width;
        if (c < row.whole) {
            loaded[p].load(x_row + c);
        } else {
            loaded[p].fill(-INFINITY); // its exponential is 0
        }
    }
    bool has_cut = row.cut(t) >= 0;
    float cut = has_cut ? to_float(x_row[row.cut(t)]) : -INFINITY;
    causal_zeros<T, width, threads, vecs>(out_row, t, row); // while the loads are in flight

    float value[recompute ? 1 : vecs][width], largest = fmaxf(cut, -FLT_MAX), sum = 0.0f;
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (p * step >= row.whole) { continue; }
        float(&v)[width] = value[recompute ? 0 : p];
        loaded[p].unpack(v);
#pragma unroll
        for (int i = 0; i < width; i++) { largest = fmaxf(largest, v[i]); }
    }
    largest = warp_max(largest); // of x: scale is above 0
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (p * step >= row.whole) { continue; }
        float(&v)[width] = value[recompute ? 0 : p];
        if (recompute) { loaded[p].unpack(v); }
#pragma unroll
        for (int i = 0; i < width; i++) {
            v[i] = exponential<T>(v[i] - largest, scale);
            sum += v[i];
        }
    }
    cut = exponential<T>(cut - largest, scale);
    softmax_part part = {largest, warp_sum(sum + cut)};
    part = block_softmax_merge<T, threads / warp_size>(part, warp_parts, 0, scale);
    constexpr bool alone = threads == warp_size; // the warp's largest element is the row's
    float factor = (alone ? 1.0f : exponential<T>(largest - part.largest, scale)) / part.sum;
    cut = has_cut ? cut * factor : 0.0f; // not 0 * NaN
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (p * step >= row.whole) { continue; }
        float(&v)[width] = value[recompute ? 0 : p];
        if (recompute) { loaded[p].unpack(v); }
#pragma unroll
        for (int i = 0; i < width; i++) {
            if (recompute) { v[i] = exponential<T>(v[i] - largest, scale); }
            v[i] = alone ? quotient<T>(v[i], part.sum, factor) : v[i] * factor;
        }
        loaded[p].pack(v);
    }
    causal_store<T, width, threads, vecs>(out_row, loaded, cut, t, row);
}

template <class T, int threads, int vecs, int groups, int width, int resident, bool recompute>
int causal_softmax_rows(T *out, const T *x, const int *lengths, int N, int H, int C, float scale, int upper,
                        cudaStream_t stream) {
    return launch({(unsigned)((N + groups - 1) / groups), threads * groups, stream},
                  causal_softmax_rows_kernel<T, width, threads, vecs, groups, resident, recompute>, out, x, lengths, N,
                  H, C, scale, upper);
}

// ---- a warp has two rows: for CAUSAL_UPPER_KEEP ----
//
// Half of each row is masked, neither read nor written. A warp with one row then has few bytes in flight, and the fixed cost
// of a row (its start, its reductions, its end) weighs twice: 0.77 of a copy on an H200. Rows j and T-1-j together have T+1
// keys for every j. So a warp takes both, in as many registers as one row of T columns needs:
//
//   slots, p * 32 + lane     0 ............ | ..... | ............ slots-1
//                            row j, forward | empty | row T-1-j, backward       both from their columns 0
//
// Each instruction accesses neighbouring vecs of a row, from a multiple of 512 bytes on, in either direction.

// Row j is the upper one, T-1-j the lower one. T is even, since rows that are aligned to 16 bytes consist of whole vecs.
// The upper row has at most half of the slots.
template <class T, int vecs> struct causal_pair {
    static constexpr int width = vec<T>::size, step = warp_size * width, upper_vecs = (vecs + 1) / 2;
    int matrix; // of (B * H)
    causal_row<width> upper, lower;
    size_t upper_start, lower_start;       // of the rows, elements
    int upper_first, lower_last;           // column of this lane's slot 0, in either row's order
    size_t cut_at;                         // this lane's element of a cut vec
    bool cut_upper, cut_keys, cut_written; // of the upper row? is it a key? is it written?

    __device__ causal_pair(int number, const int *lengths, int H, int C) {
        int pairs = C / 2, lane = threadIdx.x % warp_size;
        matrix = number / pairs;
        int j = number % pairs, length = lengths ? max(lengths[matrix / H], 0) : C;
        upper = causal_row<width>(min(j + 1, length), j + 1);
        lower = causal_row<width>(min(C - j, length), C - j);
        upper_start = ((size_t)matrix * C + j) * C, lower_start = ((size_t)matrix * C + C - 1 - j) * C;
        upper_first = lane * width, lower_last = vecs * step - width - upper_first;
        // Half of the lanes have the cut vec of the upper row, the others that of the lower row.
        cut_upper = lane < warp_size / 2;
        int c = lane % (warp_size / 2) + (cut_upper ? upper.whole : lower.whole);
        cut_keys = lane % (warp_size / 2) < width && c < (cut_upper ? upper.keys : lower.keys);
        cut_written = c < min(cut_upper ? upper.zeros_from : lower.zeros_from, cut_upper ? upper.end : lower.end);
        cut_at = (cut_upper ? upper_start : lower_start) + c;
    }

    // The last element that is written in the row of this lane's cut vec. Its sector of 32 bytes is written in part, for
    // which it must be read from memory: a prefetch hides that.
    __device__ size_t last() const { return cut_upper ? upper_start + upper.end - 1 : lower_start + lower.end - 1; }

    // Of the slot p * warp_size + lane:
    __device__ bool in_upper(int p) const { return p < upper_vecs && upper_first < upper.whole - p * step; }
    __device__ bool has(int p) const { return in_upper(p) || lower_last < lower.whole + p * step; }
    template <class E> __device__ E *place(int p, E *tensor) const {
        E *in_lower = tensor + lower_start + lower_last - p * step;
        return in_upper(p) ? tensor + upper_start + upper_first + p * step : in_lower;
    }
};

// The zeros of a row beyond its cut vec, from column zeros_from on. Only rows with lengths have any.
template <class T, int width> __device__ inline void causal_row_zeros(T *to, const causal_row<width> &row) {
    constexpr int step = warp_size * width;
    vec_of<T, width> zero = {};
    int lane = threadIdx.x % warp_size;
    for (int c = row.zeros_from / step * step + lane * width; c + width <= row.end; c += step) {
        if (c >= row.zeros_from) { zero.store(to + c); }
    }
    int c = row.end / width * width + lane; // the end of the row cuts a vec
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

// Loads this lane's vecs; returns its element of a cut vec.
template <class T, int vecs>
__device__ inline float causal_pair_load(vec_of<T, vec<T>::size> (&loaded)[vecs], const T *x,
                                         const causal_pair<T, vecs> &pair) {
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (pair.has(p)) {
            loaded[p].load(pair.place(p, x));
        } else {
            loaded[p].fill(-INFINITY); // its exponential is 0
        }
    }
    return pair.cut_keys ? to_float(x[pair.cut_at]) : -INFINITY;
}

// A float2 holds a value of the upper row in x and of the lower row in y.
template <class T, int vecs>
__device__ inline void causal_pair_softmax(T *out, vec_of<T, vec<T>::size> (&loaded)[vecs], float cut,
                                           const causal_pair<T, vecs> &pair, float scale) {
    constexpr int width = vec<T>::size;
    float value[vecs][width], cut_largest = fmaxf(cut, -FLT_MAX);
    float2 largest = make_float2(pair.cut_upper ? cut_largest : -FLT_MAX, pair.cut_upper ? -FLT_MAX : cut_largest);
#pragma unroll
    for (int p = 0; p < vecs; p++) {
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
    for (int p = 0; p < vecs; p++) {
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
    for (int p = 0; p < vecs; p++) {
        float(&v)[width] = value[p];
        float row_sum = pair.in_upper(p) ? sum.x : sum.y, row_factor = pair.in_upper(p) ? factor.x : factor.y;
#pragma unroll
        for (int i = 0; i < width; i++) { v[i] = quotient<T>(v[i], row_sum, row_factor); }
        loaded[p].pack(v);
        if (pair.has(p)) { loaded[p].store(pair.place(p, out)); }
    }
    if (pair.cut_written) { // 0 beyond the last key, not 0 * NaN
        cut = pair.cut_keys ? cut * (pair.cut_upper ? factor.x : factor.y) : 0.0f;
        out[pair.cut_at] = from_float<T>(cut);
    }
}

// Prefetches the rows of a later warp into L2, which adds bytes in flight without registers. The distance is a quarter of the
// warps that run at a time in fp32 and three quarters in 16 bits: a row prefetched earlier is evicted before its warp starts.
template <class T> __device__ inline void causal_pair_prefetch(const T *x, int number, int pairs, int C) {
    if (number >= pairs || threadIdx.x % warp_size > 0) { return; }
    constexpr int width = vec<T>::size;
    int j = number % (C / 2);
    const T *matrix = x + (size_t)(number / (C / 2)) * C * C;
    prefetch_l2_bulk(matrix + (size_t)j * C, (j + width) / width * 16);
    prefetch_l2_bulk(matrix + (size_t)(C - 1 - j) * C, (C - j + width - 1) / width * 16);
}

// out may be x: every element is read before it is written, by the lane that writes it.
template <class T, int vecs, int groups, int resident>
__global__ void __launch_bounds__(warp_size *groups, resident)
    causal_softmax_pairs_kernel(T *out,             // (B, H, T, T)
                                const T *x,         // (B, H, T, T)
                                const int *lengths, // (B) or null
                                int pairs, int H, int C, float scale, int ahead) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    int number = blockIdx.x * groups + threadIdx.x / warp_size;
    if (groups > 1 && number >= pairs) { return; } // a whole warp
    causal_pair<T, vecs> pair(number, lengths, H, C);
    vec_of<T, vec<T>::size> loaded[vecs];
    float cut = causal_pair_load(loaded, x, pair);
    if (threadIdx.x % (warp_size / 2) == 0) { prefetch_l2(out + pair.last()); }
    causal_pair_prefetch(x, number + ahead, pairs, C);
    if (lengths) { // while the loads are in flight
        causal_row_zeros(out + pair.upper_start, pair.upper);
        causal_row_zeros(out + pair.lower_start, pair.lower);
    }
    causal_pair_softmax(out, loaded, cut, pair, scale);
}

template <class T, int vecs, int groups, int resident>
int causal_softmax_pairs(T *out, const T *x, const int *lengths, int N, int H, int C, float scale, int /*upper*/,
                         cudaStream_t stream) {
    int pairs = N / 2, at_a_time = multiprocessor_count() * groups * resident;
    int ahead = sizeof(T) == 4 ? at_a_time / 4 : at_a_time / 4 * 3;
    return launch({(unsigned)((pairs + groups - 1) / groups), warp_size * groups, stream},
                  causal_softmax_pairs_kernel<T, vecs, groups, resident>, out, x, lengths, pairs, H, C, scale, ahead);
}

// ---- the choice: the first line whose columns fit: vecs of a row, element size, form ----

template <class T> struct causal_softmax_line {
    int most_vecs, element; // of a row, at most; bytes of an element, 0: any
    bool keep;              // only for CAUSAL_UPPER_KEEP
    int (*launch)(T *out, const T *x, const int *lengths, int N, int H, int C, float scale, int upper,
                  cudaStream_t stream);
};

// cudaErrorNotSupported: the row is too long for the registers of a block.
template <class T>
int causal_softmax_speed_of_light(T *out, const T *x, const int *lengths, int N, int H, int C, float scale, int upper,
                                  cudaStream_t stream) {
    constexpr int w = vec<T>::size;
    constexpr bool recompute = sizeof(T) == 2;
    // As many resident blocks as spill no registers. 8 vecs of fp32: with 12 blocks 0.89 of a copy on an H200, with 16 0.88.
    constexpr int fit_8 = recompute ? 8 : 12, fit_16 = recompute ? 1 : 16;
    static const causal_softmax_line<T> table[] = {
        // vecs of a row, bytes of an element, keep | vecs of a lane, warps of a block, resident blocks
        {32, 0, true, causal_softmax_pairs<T, 1, 8, 4>},
        {64, 0, true, causal_softmax_pairs<T, 2, 8, 4>},
        {128, 0, true, causal_softmax_pairs<T, 4, 4, 8>},
        {256, 0, true, causal_softmax_pairs<T, 8, 2, fit_8>},
        {512, 4, true, causal_softmax_pairs<T, 16, 1, fit_16>},
        // the same | threads, vecs of a thread, groups of a block, elements of a vec, resident blocks, recompute
        {32, 0, false, causal_softmax_rows<T, 32, 1, 8, w, 1, false>},
        {64, 0, false, causal_softmax_rows<T, 32, 2, 4, w, 1, false>},
        {128, 0, false, causal_softmax_rows<T, 32, 4, 2, w, 16, false>},
        {256, 4, false, causal_softmax_rows<T, 32, 8, 1, w, 1, false>},
        {256, 2, false, causal_softmax_rows<T, 64, 4, 1, w, 16, false>},
        {512, 0, false, causal_softmax_rows<T, 128, 4, 1, w, 1, recompute>},
        {1024, 0, false, causal_softmax_rows<T, 256, 4, 1, w, 1, recompute>},
        {2048, 0, false, causal_softmax_rows<T, 512, 4, 1, w, 1, recompute>},
        {4096, 0, false, causal_softmax_rows<T, 512, 8, 1, w, 1, recompute>},
        {8192, 0, false, causal_softmax_rows<T, 1024, 8, 1, w, 1, recompute>},
    };
    static const causal_softmax_line<T> by_element[] = {
        // the same for rows that are not aligned to 16 bytes: one element in place of a vec
        {256, 0, false, causal_softmax_rows<T, 32, 8, 4, 1, 1, false>},
        {1024, 0, false, causal_softmax_rows<T, 128, 8, 1, 1, 1, false>},
        {8192, 0, false, causal_softmax_rows<T, 256, 32, 1, 1, 1, false>},
        {32768, 0, false, causal_softmax_rows<T, 1024, 32, 1, 1, 1, false>},
    };
    bool aligned = rows_aligned<T>(C, {out, x});
    int vecs = aligned ? C / w : C;
    auto fits = [&](const causal_softmax_line<T> &line) {
        return vecs <= line.most_vecs && (line.element == 0 || line.element == sizeof(T)) &&
               (!line.keep || upper == CAUSAL_UPPER_KEEP);
    };
    const causal_softmax_line<T> *line = aligned
                                             ? first_that_fits("causal_softmax_forward", table, fits)
                                             : first_that_fits("causal_softmax_forward by element", by_element, fits);
    if (!line) { return cudaErrorNotSupported; }
    return line->launch(out, x, lengths, N, H, C, scale, upper, stream);
}
#endif
