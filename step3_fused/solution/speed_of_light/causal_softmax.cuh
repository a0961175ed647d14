// causal_softmax.cuh — scale, causal mask and softmax at speed of light
//
// What is masked is not read. Zeros that need nothing from x are stored while the loads are on their way. A launch of this
// GPU starts about 820 blocks in a microsecond: rows of 1024 16-bit elements share a block, two by two. Where the upper
// triangle is left alone, a warp has two rows: causal_softmax_pairs.cuh.
#ifndef SPEED_OF_LIGHT_CAUSAL_SOFTMAX_CUH
#define SPEED_OF_LIGHT_CAUSAL_SOFTMAX_CUH

#include "causal_pieces.cuh"
#include "causal_softmax_pairs.cuh"
#include "choice.cuh"

#include <limits.h>

// out may be x: every element is read before it is written, by the thread that writes it or before a shuffle.
template <class T, int width, int threads, int pieces, int teams, int resident, bool again>
__global__ void __launch_bounds__(threads *teams, resident)
    causal_softmax_rows_kernel(T *out,             // (B, H, T, T)
                               const T *x,         // (B, H, T, T)
                               const int *lengths, // (B) or null
                               int N, int H, int C, float scale, int upper) {
    __shared__ float2 warp_parts[2 * threads / warp_size];
    wait_for_previous_kernel();
    let_next_kernel_start();
    int n = blockIdx.x * teams + threadIdx.x / threads, t = threadIdx.x % threads;
    if (teams > 1 && n >= N) { return; } // a whole warp
    causal_row<width> row(n, lengths, H, C, upper);
    const T *x_row = x + (size_t)n * C; // (T)
    T *out_row = out + (size_t)n * C;   // (T)
    constexpr int step = threads * width;

    piece<T, width> loaded[pieces];
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        if (p * step >= row.whole) { continue; } // the whole team
        int c = p * step + t * width;
        if (c < row.whole) {
            loaded[p].load(x_row + c);
        } else {
            loaded[p].fill(-INFINITY); // its exponential is 0
        }
    }
    bool has_cut = row.cut(t) >= 0;
    float cut = has_cut ? to_float(x_row[row.cut(t)]) : -INFINITY;
    causal_zeros<T, width, threads, pieces>(out_row, t, row); // while the loads are on their way

    float value[again ? 1 : pieces][width], largest = fmaxf(cut, -FLT_MAX), sum = 0.0f;
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        if (p * step >= row.whole) { continue; }
        float(&v)[width] = value[again ? 0 : p];
        loaded[p].unpack(v);
#pragma unroll
        for (int i = 0; i < width; i++) { largest = fmaxf(largest, v[i]); }
    }
    largest = warp_max(largest); // of x: scale is above 0
#pragma unroll
    for (int p = 0; p < pieces; p++) {
        if (p * step >= row.whole) { continue; }
        float(&v)[width] = value[again ? 0 : p];
        if (again) { loaded[p].unpack(v); }
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
    for (int p = 0; p < pieces; p++) {
        if (p * step >= row.whole) { continue; }
        float(&v)[width] = value[again ? 0 : p];
        if (again) { loaded[p].unpack(v); }
#pragma unroll
        for (int i = 0; i < width; i++) {
            if (again) { v[i] = exponential<T>(v[i] - largest, scale); }
            v[i] = alone ? quotient<T>(v[i], part.sum, factor) : v[i] * factor;
        }
        loaded[p].pack(v);
    }
    causal_store<T, width, threads, pieces>(out_row, loaded, cut, t, row);
}

template <class T, int threads, int pieces, int teams, int width, int resident, bool again>
int causal_softmax_rows(T *out, const T *x, const int *lengths, int N, int H, int C, float scale, int upper,
                        cudaStream_t stream) {
    return launch({(unsigned)((N + teams - 1) / teams), threads * teams, 1, stream},
                  causal_softmax_rows_kernel<T, width, threads, pieces, teams, resident, again>, out, x, lengths, N, H,
                  C, scale, upper);
}

// ---- the choice: the first line whose pieces, element size and form fit ----

template <class T> struct causal_softmax_line {
    int most_pieces, element; // 16-byte pieces of a row; bytes, 0: any
    bool keep;                // only for CAUSAL_UPPER_KEEP
    int (*launch)(T *out, const T *x, const int *lengths, int N, int H, int C, float scale, int upper,
                  cudaStream_t stream);
};

// cudaErrorNotSupported: no register file holds such a row.
template <class T>
int causal_softmax_speed_of_light(T *out, const T *x, const int *lengths, int N, int H, int C, float scale, int upper,
                                  cudaStream_t stream) {
    constexpr int w = vec<T>::size;
    constexpr bool again = sizeof(T) == 2;
    // As many blocks as spill no registers; 8 pieces of fp32: 12 are 0.89 of a copy's speed on an H200, 16 are 0.88.
    constexpr int fit_8 = again ? 8 : 12, fit_16 = again ? 1 : 16;
    static const causal_softmax_line<T> table[] = {
        // pieces, bytes, keep            pieces each, warps in a block, blocks to fit
        {32, 0, true, causal_softmax_pairs<T, 1, 8, 4>},
        {64, 0, true, causal_softmax_pairs<T, 2, 8, 4>},
        {128, 0, true, causal_softmax_pairs<T, 4, 4, 8>},
        {256, 0, true, causal_softmax_pairs<T, 8, 2, fit_8>},
        {512, 4, true, causal_softmax_pairs<T, 16, 1, fit_16>},
        // threads, pieces each, teams in a block; element width, blocks to fit, exponentials again
        {32, 0, false, causal_softmax_rows<T, 32, 1, 8, w, 1, false>},
        {64, 0, false, causal_softmax_rows<T, 32, 2, 4, w, 1, false>},
        {128, 0, false, causal_softmax_rows<T, 32, 4, 2, w, 16, false>},
        {256, 4, false, causal_softmax_rows<T, 32, 8, 1, w, 1, false>},
        {256, 2, false, causal_softmax_rows<T, 64, 4, 1, w, 16, false>},
        {512, 0, false, causal_softmax_rows<T, 128, 4, 1, w, 1, again>},
        {1024, 0, false, causal_softmax_rows<T, 256, 4, 1, w, 1, again>},
        {2048, 0, false, causal_softmax_rows<T, 512, 4, 1, w, 1, again>},
        {4096, 0, false, causal_softmax_rows<T, 512, 8, 1, w, 1, again>},
        {8192, 0, false, causal_softmax_rows<T, 1024, 8, 1, w, 1, again>},
    };
    static const causal_softmax_line<T> by_element[] = {
        // the same for rows that are not aligned to 16 bytes: pieces of one element
        {256, 0, false, causal_softmax_rows<T, 32, 8, 4, 1, 1, false>},
        {1024, 0, false, causal_softmax_rows<T, 128, 8, 1, 1, 1, false>},
        {8192, 0, false, causal_softmax_rows<T, 256, 32, 1, 1, 1, false>},
        {32768, 0, false, causal_softmax_rows<T, 1024, 32, 1, 1, 1, false>},
    };
    bool aligned = rows_aligned<T>(C, out, x);
    int pieces = aligned ? C / w : C;
    auto fits = [&](const causal_softmax_line<T> &line) {
        return pieces <= line.most_pieces && (line.element == 0 || line.element == sizeof(T)) &&
               (!line.keep || upper == CAUSAL_UPPER_KEEP);
    };
    const causal_softmax_line<T> *line = aligned
                                             ? first_that_fits("causal_softmax_forward", table, fits)
                                             : first_that_fits("causal_softmax_forward by element", by_element, fits);
    if (!line) { return cudaErrorNotSupported; }
    return line->launch(out, x, lengths, N, H, C, scale, upper, stream);
}
#endif
