// softmax_backward.cuh — the gradient of softmax at speed of light: the kernels of softmax.cuh for two tensors
#ifndef SPEED_OF_LIGHT_SOFTMAX_BACKWARD_CUH
#define SPEED_OF_LIGHT_SOFTMAX_BACKWARD_CUH

#include "launch.cuh"
#include "rows.cuh"
#include "softmax_wide.cuh"

#include <limits.h>

// A thread's partition of a row: the vecs at the columns first, first + step, ... before `end`.
template <class T, int width, int vecs> struct softmax_backward_partition {
    vec_of<T, width> dout[vecs], out[vecs];

    __device__ void load(const T *dout_from, const T *out_from, int first, int step, int end) {
#pragma unroll
        for (int p = 0; p < vecs; p++) {
            if (first + p * step < end) {
                out[p].load(out_from + first + p * step);
                dout[p].load(dout_from + first + p * step);
            }
        }
    }

    __device__ float warp_dot(int first, int step, int end) const {
        float dot = 0.0f;
#pragma unroll
        for (int p = 0; p < vecs; p++) {
            if (first + p * step >= end) { continue; }
            float d[width], y[width];
            dout[p].unpack(d);
            out[p].unpack(y);
#pragma unroll
            for (int i = 0; i < width; i++) { dot += d[i] * y[i]; }
        }
        return warp_sum(dot);
    }

    __device__ void store(T *to, int first, int step, int end, float dot) {
#pragma unroll
        for (int p = 0; p < vecs; p++) {
            if (first + p * step >= end) { continue; }
            float d[width], y[width];
            dout[p].unpack(d);
            out[p].unpack(y);
#pragma unroll
            for (int i = 0; i < width; i++) { d[i] = y[i] * (d[i] - dot); }
            dout[p].pack(d);
            dout[p].store(to + first + p * step);
        }
    }
};

// dx may be dout: every element is read before it is written, by the thread that writes it.
template <class T, int width, int threads, int vecs, int groups, int cluster>
__global__ void __launch_bounds__(threads *groups) softmax_backward_rows_kernel(T *dx,                     // (N, C)
                                                                                const T *dout,             // (N, C)
                                                                                const T *__restrict__ out, // (N, C)
                                                                                int N, int C) {
    __shared__ float warp_parts[2 * threads / warp_size];
    __shared__ float2 block_parts[2 * cluster];
    wait_for_previous_kernel();
    let_next_kernel_start();
    int n = cluster_number<cluster>() * groups + threadIdx.x / threads;
    if (groups > 1 && n >= N) { return; } // a whole warp
    if (cluster > 1) { cluster_started(); }
    size_t row = (size_t)n * C;
    int first = (cluster_rank<cluster>() * threads + threadIdx.x % threads) * width;
    constexpr int step = cluster * threads * width;

    softmax_backward_partition<T, width, vecs> partition;
    partition.load(dout + row, out + row, first, step, C);
    float dot = block_sum_round<threads / warp_size>(partition.warp_dot(first, step, C), warp_parts);
    if (cluster > 1) { cluster_all_started(); }
    partition.store(dx + row, first, step, C, cluster_sum<cluster>(dot, block_parts));
}

template <class T, int width, int threads, int vecs>
__global__ void __launch_bounds__(threads) softmax_backward_split_kernel(T *dx,                     // (N, C)
                                                                         const T *dout,             // (N, C)
                                                                         const T *__restrict__ out, // (N, C)
                                                                         split_scratch split, int C) {
    __shared__ float warp_parts[2 * threads / warp_size];
    wait_for_previous_kernel();
    let_next_kernel_start();
    int ticket = split_ticket(split), n = ticket / split.blocks;
    size_t row = (size_t)n * C;
    int first = (ticket % split.blocks * threads + threadIdx.x) * width, step = split.blocks * threads * width;

    softmax_backward_partition<T, width, vecs> partition;
    partition.load(dout + row, out + row, first, step, C);
    float dot = block_sum_round<threads / warp_size>(partition.warp_dot(first, step, C), warp_parts);
    split_exchange(split, ticket, make_float2(dot, 0.0f));
    dot = 0.0f;
    for (int b = threadIdx.x % warp_size; b < split.blocks; b += warp_size) {
        dot += __ldcg(split.parts + (size_t)n * split.blocks + b).x;
    }
    partition.store(dx + row, first, step, C, warp_sum(dot));
}

// Rows of any length: a block for each, two reads.
template <class T, int width, int threads>
__global__ void __launch_bounds__(threads) softmax_backward_stream_kernel(T *dx,                     // (N, C)
                                                                          const T *dout,             // (N, C)
                                                                          const T *__restrict__ out, // (N, C)
                                                                          int C) {
    __shared__ float warp_parts[2 * threads / warp_size];
    wait_for_previous_kernel();
    let_next_kernel_start();
    size_t row = (size_t)blockIdx.x * C;
    softmax_backward_partition<T, width, 1> partition;
    float dot = 0.0f;
    // All lanes take part in the sum, also those beyond the row.
    for (int c = threadIdx.x * width; c - (int)threadIdx.x * width < C; c += threads * width) {
        partition.load(dout + row, out + row, c, 0, C);
        dot += partition.warp_dot(c, 0, C);
    }
    dot = block_sum_round<threads / warp_size>(dot, warp_parts);
    for (int c = threadIdx.x * width; c < C; c += threads * width) {
        partition.load(dout + row, out + row, c, 0, C);
        partition.store(dx + row, c, 0, C, dot);
    }
}

// ---- launchers: their template arguments are columns of the table ----

template <class T, int threads, int vecs, int groups, int cluster, int width>
int softmax_backward_rows(T *dx, const T *dout, const T *out, int N, int C, cudaStream_t stream) {
    unsigned blocks = (unsigned)((N + groups - 1) / groups) * cluster;
    return launch_clusters({blocks, threads * groups, stream}, cluster,
                           softmax_backward_rows_kernel<T, width, threads, vecs, groups, cluster>, dx, dout, out, N, C);
}

template <class T, int threads, int vecs, int width>
int softmax_backward_split(T *dx, const T *dout, const T *out, int N, int C, cudaStream_t stream) {
    int blocks = (C - 1) / (threads * vecs * width) + 1;
    if (blocks > multiprocessor_count() || N > INT_MAX / blocks) { // more than can run at the same time
        return launch({(unsigned)N, threads, stream}, softmax_backward_stream_kernel<T, width, threads>, dx, dout, out,
                      C);
    }
    split_scratch split;
    cudaError_t error = split_acquire(&split, N, blocks, stream);
    if (error != cudaSuccess) { return error; }
    int status = launch({(unsigned)(N * blocks), threads, stream},
                        softmax_backward_split_kernel<T, width, threads, vecs>, dx, dout, out, split, C);
    error = split_release(split, stream);
    return status != cudaSuccess ? status : error;
}

// ---- the choice: the first line whose vecs of a row, element size and compute capability fit ----

template <class T> struct softmax_backward_line {
    int most_vecs, element, capability; // of a row, at most; bytes of an element, 0: any; at least
    int (*launch)(T *dx, const T *dout, const T *out, int N, int C, cudaStream_t stream);
};

template <class T>
int softmax_backward_speed_of_light(T *dx, const T *dout, const T *out, int N, int C, cudaStream_t stream) {
    constexpr int w = vec<T>::size;
    static const softmax_backward_line<T> table[] = {
        // vecs of a row, bytes of an element, compute capability
        // threads of a group, vecs of a thread, groups of a block, blocks of a cluster, elements of a vec
        {32, 0, 0, softmax_backward_rows<T, 32, 1, 4, 1, w>},
        {64, 0, 0, softmax_backward_rows<T, 32, 2, 2, 1, w>},
        {112, 0, 0, softmax_backward_rows<T, 32, 4, 2, 1, w>},
        {128, 0, 0, softmax_backward_rows<T, 128, 1, 1, 1, w>},
        {256, 0, 0, softmax_backward_rows<T, 256, 1, 1, 1, w>},
        {512, 0, 0, softmax_backward_rows<T, 256, 2, 1, 1, w>},
        {1024, 0, 0, softmax_backward_rows<T, 512, 2, 1, 1, w>},
        {2048, 0, 0, softmax_backward_rows<T, 512, 4, 1, 1, w>},
        {4096, 0, 0, softmax_backward_rows<T, 1024, 4, 1, 1, w>},
        {8192, 0, 90, softmax_backward_rows<T, 256, 8, 1, 4, w>},
        {16384, 0, 90, softmax_backward_rows<T, 512, 8, 1, 4, w>},
        {32768, 2, 90, softmax_backward_rows<T, 512, 8, 1, 8, w>},
        // softmax_backward_wide: threads of a block, vecs of dout of a thread in registers, in shared memory, blocks of a
        // cluster
        {32768, 4, 90, softmax_backward_wide<T, 512, 8, 0, 8>},
        {65536, 0, 90, softmax_backward_wide<T, 512, 8, 0, 16>},
        // softmax_backward_split: threads of a block, vecs of a thread, elements of a vec
        {INT_MAX, 0, 0, softmax_backward_split<T, 512, 8, w>},
    };
    static const softmax_backward_line<T> by_element[] = {
        // the same for rows that are not aligned to 16 bytes: one element in place of a vec
        {256, 0, 0, softmax_backward_rows<T, 32, 8, 4, 1, 1>},
        {1024, 0, 0, softmax_backward_rows<T, 64, 16, 1, 1, 1>},
        {8192, 0, 0, softmax_backward_rows<T, 512, 16, 1, 1, 1>},
        {INT_MAX, 0, 0, softmax_backward_split<T, 512, 32, 1>},
    };
    bool aligned = rows_aligned<T>(C, {dx, dout, out});
    int vecs = aligned ? C / w : C, capability = compute_capability();
    auto fits = [&](const softmax_backward_line<T> &line) {
        return vecs <= line.most_vecs && (line.element == 0 || line.element == sizeof(T)) &&
               capability >= line.capability;
    };
    const softmax_backward_line<T> *line = aligned ? first_that_fits("softmax_backward", table, fits)
                                                   : first_that_fits("softmax_backward by element", by_element, fits);
    return line->launch(dx, dout, out, N, C, stream);
}
#endif
