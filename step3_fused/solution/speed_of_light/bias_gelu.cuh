// bias_gelu.cuh — bias and GELU at speed of light: a thread keeps the bias of its columns for `rows` rows, all in flight
#ifndef SPEED_OF_LIGHT_BIAS_GELU_CUH
#define SPEED_OF_LIGHT_BIAS_GELU_CUH

#include "gelu.cuh"
#include "rows.cuh"

// A block takes blockDim.x vecs of columns and `rows` neighbouring rows. out may be x.
template <class T, int width, int rows>
__global__ void bias_gelu_rows_kernel(T *out,                     // (N, C)
                                      const T *x,                 // (N, C)
                                      const T *__restrict__ bias, // (C)
                                      int N, int C, int column_blocks) {
    wait_for_previous_kernel();
    let_next_kernel_start();
    int c = (blockIdx.x % column_blocks * blockDim.x + threadIdx.x) * width;
    int n = blockIdx.x / column_blocks * rows;
    if (c >= C) { return; }
    vec_of<T, width> loaded[rows], b_vec;
#pragma unroll
    for (int r = 0; r < rows; r++) {
        if (n + r < N) { loaded[r].load(x + (size_t)(n + r) * C + c); }
    }
    b_vec.load(bias + c);
    float b[width];
    b_vec.unpack(b);
#pragma unroll
    for (int r = 0; r < rows; r++) {
        float value[width];
        loaded[r].unpack(value);
#pragma unroll
        for (int i = 0; i < width; i++) { value[i] = gelu<T>(value[i] + b[i]); }
        loaded[r].pack(value);
        if (n + r < N) { loaded[r].store(out + (size_t)(n + r) * C + c); }
    }
}

template <class T, int most_threads, int rows, int width>
int bias_gelu_rows(T *out, const T *x, const T *bias, int N, int C, cudaStream_t stream) {
    int vecs = (C + width - 1) / width, column_blocks = (vecs + most_threads - 1) / most_threads;
    int threads = ((vecs + column_blocks - 1) / column_blocks + 31) / 32 * 32;
    unsigned blocks = (unsigned)((N + rows - 1) / rows) * column_blocks;
    return launch({blocks, (unsigned)threads, stream}, bias_gelu_rows_kernel<T, width, rows>, out, x, bias, N, C,
                  column_blocks);
}
#endif
