// causal_softmax_backward.cuh — the gradient of scale, causal mask and softmax at speed of light
//
// The kernel of causal_softmax.cuh that has a row in a group of threads, with two tensors to read.
#ifndef SPEED_OF_LIGHT_CAUSAL_SOFTMAX_BACKWARD_CUH
#define SPEED_OF_LIGHT_CAUSAL_SOFTMAX_BACKWARD_CUH

#include "causal_row.cuh"
#include "launch.cuh"

// dx may be dout: every element is read before it is written, by the thread that writes it or before a shuffle.
template <class T, int width, int threads, int vecs, int groups>
__global__ void __launch_bounds__(threads *groups)
    causal_softmax_backward_rows_kernel(T *dx,                     // (B, H, T, T)
                                        const T *dout,             // (B, H, T, T)
                                        const T *__restrict__ out, // (B, H, T, T)
                                        const int *lengths,        // (B) or null
                                        int N, int H, int C, float scale, int upper) {
    __shared__ float warp_parts[2 * threads / warp_size];
    wait_for_previous_kernel();
    let_next_kernel_start();
    int n = blockIdx.x * groups + threadIdx.x / threads, t = threadIdx.x % threads;
    if (groups > 1 && n >= N) { return; } // a whole warp
    causal_row<width> row(n, lengths, H, C, upper);
    const T *dout_row = dout + (size_t)n * C, *out_row = out + (size_t)n * C; // (T)
    T *dx_row = dx + (size_t)n * C;                                           // (T)
    constexpr int step = threads * width;

    vec_of<T, width> dout_vec[vecs], out_vec[vecs];
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        int c = p * step + t * width;
        if (c < row.whole) {
            out_vec[p].load(out_row + c);
            dout_vec[p].load(dout_row + c);
        }
    }
    bool has_cut = row.cut(t) >= 0;
    float cut_dout = has_cut ? to_float(dout_row[row.cut(t)]) : 0.0f;
    float cut_out = has_cut ? to_float(out_row[row.cut(t)]) : 0.0f;
    causal_zeros<T, width, threads, vecs>(dx_row, t, row); // while the loads are in flight

    float dot = cut_dout * cut_out;
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (p * step + t * width < row.whole) {
            float d[width], y[width];
            dout_vec[p].unpack(d);
            out_vec[p].unpack(y);
#pragma unroll
            for (int i = 0; i < width; i++) { dot += d[i] * y[i]; }
        }
    }
    dot = block_sum_round<threads / warp_size>(warp_sum(dot), warp_parts);
    float cut = has_cut ? scale * cut_out * (cut_dout - dot) : 0.0f; // not 0 * NaN
#pragma unroll
    for (int p = 0; p < vecs; p++) {
        if (p * step + t * width < row.whole) {
            float d[width], y[width];
            dout_vec[p].unpack(d);
            out_vec[p].unpack(y);
#pragma unroll
            for (int i = 0; i < width; i++) { d[i] = scale * y[i] * (d[i] - dot); }
            dout_vec[p].pack(d);
        }
    }
    causal_store<T, width, threads, vecs>(dx_row, dout_vec, cut, t, row);
}

template <class T, int threads, int vecs, int groups, int width>
int causal_softmax_backward_rows(T *dx, const T *dout, const T *out, const int *lengths, int N, int H, int C,
                                 float scale, int upper, cudaStream_t stream) {
    return launch({(unsigned)((N + groups - 1) / groups), threads * groups, stream},
                  causal_softmax_backward_rows_kernel<T, width, threads, vecs, groups>, dx, dout, out, lengths, N, H, C,
                  scale, upper);
}

// ---- the choice: the first line whose vecs of a row and element size fit ----

template <class T> struct causal_softmax_backward_line {
    int most_vecs, element; // of a row, at most; bytes of an element, 0: any
    int (*launch)(T *dx, const T *dout, const T *out, const int *lengths, int N, int H, int C, float scale, int upper,
                  cudaStream_t stream);
};

// cudaErrorNotSupported: the row is too long for the registers of a block.
template <class T>
int causal_softmax_backward_speed_of_light(T *dx, const T *dout, const T *out, const int *lengths, int N, int H, int C,
                                           float scale, int upper, cudaStream_t stream) {
    constexpr int w = vec<T>::size;
    static const causal_softmax_backward_line<T> table[] = {
        // vecs of a row, bytes of an element | threads, vecs of a thread, groups of a block, elements of a vec
        {32, 0, causal_softmax_backward_rows<T, 32, 1, 4, w>},
        {64, 0, causal_softmax_backward_rows<T, 32, 2, 4, w>},
        {128, 0, causal_softmax_backward_rows<T, 32, 4, 2, w>},
        {256, 4, causal_softmax_backward_rows<T, 32, 8, 1, w>},
        {256, 2, causal_softmax_backward_rows<T, 64, 4, 1, w>},
        {512, 0, causal_softmax_backward_rows<T, 128, 4, 1, w>},
        {1024, 0, causal_softmax_backward_rows<T, 256, 4, 1, w>},
        {2048, 0, causal_softmax_backward_rows<T, 512, 4, 1, w>},
        {4096, 0, causal_softmax_backward_rows<T, 1024, 4, 1, w>},
    };
    static const causal_softmax_backward_line<T> by_element[] = {
        // the same for rows that are not aligned to 16 bytes: one element in place of a vec
        {256, 0, causal_softmax_backward_rows<T, 32, 8, 4, 1>},
        {1024, 0, causal_softmax_backward_rows<T, 64, 16, 1, 1>},
        {8192, 0, causal_softmax_backward_rows<T, 512, 16, 1, 1>},
        {16384, 0, causal_softmax_backward_rows<T, 1024, 16, 1, 1>},
    };
    bool aligned = rows_aligned<T>(C, {dx, dout, out});
    int vecs = aligned ? C / w : C;
    auto fits = [&](const causal_softmax_backward_line<T> &line) {
        return vecs <= line.most_vecs && (line.element == 0 || line.element == sizeof(T));
    };
    const causal_softmax_backward_line<T> *line =
        aligned ? first_that_fits("causal_softmax_backward", table, fits)
                : first_that_fits("causal_softmax_backward by element", by_element, fits);
    if (!line) { return cudaErrorNotSupported; }
    return line->launch(dx, dout, out, lengths, N, H, C, scale, upper, stream);
}
#endif
