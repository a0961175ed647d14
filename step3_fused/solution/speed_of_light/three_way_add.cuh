// three_way_add.cuh — out = (a + b) + c at speed of light: dependent launch, and no tests for incomplete vecs
#ifndef SPEED_OF_LIGHT_THREE_WAY_ADD_CUH
#define SPEED_OF_LIGHT_THREE_WAY_ADD_CUH

#include "rows.cuh"

// out may be a, b or c: every element is read before it is written, by the thread that writes it.
template <class T, int width, int threads>
__global__ void __launch_bounds__(threads) three_way_add_wide(T *out,         // (count)
                                                              const T *a,     // (count)
                                                              const T *b,     // (count)
                                                              const T *c,     // (count)
                                                              size_t count) { // a multiple of width
    wait_for_previous_kernel();
    let_next_kernel_start();
    size_t i = ((size_t)blockIdx.x * threads + threadIdx.x) * width;
    if (i >= count) { return; }
    vec_of<T, width> x_vec, y_vec, z_vec;
    x_vec.load(a + i);
    y_vec.load(b + i);
    z_vec.load(c + i);
    float x[width], y[width], z[width];
    x_vec.unpack(x);
    y_vec.unpack(y);
    z_vec.unpack(z);
#pragma unroll
    for (int k = 0; k < width; k++) { x[k] = to_float(from_float<T>(x[k] + y[k])) + z[k]; }
    x_vec.pack(x);
    x_vec.store(out + i);
}

template <class T, int width>
int three_way_add_launch(T *out, const T *a, const T *b, const T *c, size_t count, cudaStream_t stream) {
    constexpr int threads = 256;
    unsigned blocks = (unsigned)((count - 1) / (threads * width) + 1);
    return launch({blocks, threads, stream}, three_way_add_wide<T, width, threads>, out, a, b, c, count);
}

template <class T>
int three_way_add_speed_of_light(T *out, const T *a, const T *b, const T *c, size_t count, cudaStream_t stream) {
    bool aligned = count % vec<T>::size == 0 && vec_aligned(out) && vec_aligned(a) && vec_aligned(b) && vec_aligned(c);
    return aligned ? three_way_add_launch<T, vec<T>::size>(out, a, b, c, count, stream)
                   : three_way_add_launch<T, 1>(out, a, b, c, count, stream);
}

#endif
