// softmax.cuh — softmax at speed of light: each row has as many threads as its length needs
//
//   softmax_rows_kernel    the row is in registers, of a warp, a block, or a cluster that combines its blocks' parts through
//                          distributed shared memory: one read, one write
//   softmax_wide_kernel    longer rows, partly in shared memory: softmax_wide.cuh
//   softmax_split_kernel   several blocks for a row without a cluster; they combine their parts through global memory
//   softmax_stream_kernel  rows of any length: a block for each, two reads
//   softmax_speed_of_light chooses
#ifndef SPEED_OF_LIGHT_SOFTMAX_CUH
#define SPEED_OF_LIGHT_SOFTMAX_CUH

#include "launch.cuh"
#include "rows.cuh"
#include "softmax_wide.cuh"

#include <limits.h>

// A thread's partition of a row. recompute: the exponentials are computed twice instead of kept, which halves the registers
// of a 16-bit row.
template <class T, int width, int vecs, bool recompute> struct softmax_partition {
    vec_of<T, width> loaded[vecs];
    float value[recompute ? 1 : vecs][width], largest;

    // This thread's vecs begin at the columns first, first + step, ... before `end`.
    __device__ void load(const T *from, int first, int step, int end) {
#pragma unroll
        for (int p = 0; p < vecs; p++) {
            if (first + p * step < end) { loaded[p].load(from + first + p * step); }
        }
    }

    // The warp's largest element. Elements beyond the row become -inf: their exponential is 0.
    __device__ float warp_largest(int first, int step, int end) {
        largest = -FLT_MAX;
#pragma unroll
        for (int p = 0; p < vecs; p++) {
            float(&v)[width] = value[recompute ? 0 : p];
            if (first + p * step < end) {
                loaded[p].unpack(v);
            } else {
#pragma unroll
                for (int i = 0; i < width; i++) { v[i] = -INFINITY; }
            }
#pragma unroll
            for (int i = 0; i < width; i++) { largest = fmaxf(largest, v[i]); }
        }
        return largest = warp_max(largest);
    }

    // The warp's sum of exp(x - from).
    __device__ float warp_exponentials(float from, int first, int step, int end) {
        float sum = 0.0f;
#pragma unroll
        for (int p = 0; p < vecs; p++) {
            float(&v)[width] = value[recompute ? 0 : p];
            if (recompute && first + p * step >= end) { continue; }
            if (recompute) { loaded[p].unpack(v); }
#pragma unroll
            for (int i = 0; i < width; i++) {
                v[i] = exponential<T>(v[i] - from);
                sum += v[i];
            }
        }
        return warp_sum(sum);
    }

    __device__ softmax_part warp_part(int first, int step, int end) {
        warp_largest(first, step, end);
        return {largest, warp_exponentials(largest, first, step, end)};
    }

    // final: the exponentials are relative to the row's largest element, not to the warp's.
    __device__ void store(T *to, int first, int step, int end, softmax_part row, bool final = false) {
        float scale = (recompute || final ? 1.0f : exponential<T>(largest - row.largest)) / row.sum;
#pragma unroll
        for (int p = 0; p < vecs; p++) {
            float(&v)[width] = value[recompute ? 0 : p];
            if (first + p * step >= end) { continue; }
            if (recompute) { loaded[p].unpack(v); }
#pragma unroll
            for (int i = 0; i < width; i++) {
                if (recompute) { v[i] = exponential<T>(v[i] - row.largest); }
                v[i] = recompute || final ? quotient<T>(v[i], row.sum, scale) : v[i] * scale;
            }
            loaded[p].pack(v);
            loaded[p].store(to + first + p * step);
        }
    }
};

// out may be x: every element is read before it is written, by the thread that writes it.
template <class T, int width, int threads, int vecs, int groups, int cluster, bool recompute>
__global__ void __launch_bounds__(threads *groups) softmax_rows_kernel(T *out,     // (N, C)
                                                                       const T *x, // (N, C)
                                                                       int N, int C) {
    __shared__ float2 warp_parts[2 * threads / warp_size], block_parts[2 * cluster];
    wait_for_previous_kernel();
    let_next_kernel_start();
    int n = cluster_number<cluster>() * groups + threadIdx.x / threads;
    if (groups > 1 && n >= N) { return; } // a whole warp
    if (cluster > 1) { cluster_started(); }
    int first = (cluster_rank<cluster>() * threads + threadIdx.x % threads) * width;
    constexpr int step = cluster * threads * width;

    softmax_partition<T, width, vecs, recompute> partition;
    partition.load(x + (size_t)n * C, first, step, C);
    if constexpr (cluster == 1 && sizeof(T) == 4) { // one more barrier saves a rounding that fp32 would show
        constexpr int warps = threads / warp_size;
        softmax_part part;
        part.largest = block_max_round<warps>(partition.warp_largest(first, step, C), (float *)warp_parts, 0);
        part.sum =
            block_sum_round<warps>(partition.warp_exponentials(part.largest, first, step, C), (float *)warp_parts, 1);
        partition.store(out + (size_t)n * C, first, step, C, part, true);
    } else {
        softmax_part part = partition.warp_part(first, step, C);
        part = block_softmax_merge<T, threads / warp_size>(part, warp_parts);
        if (cluster > 1) { cluster_all_started(); }
        part = cluster_softmax_merge<T, cluster>(part, block_parts);
        partition.store(out + (size_t)n * C, first, step, C, part, threads == warp_size && cluster == 1);
    }
}

template <class T, int width, int threads, int vecs, bool recompute>
__global__ void __launch_bounds__(threads) softmax_split_kernel(T *out,     // (N, C)
                                                                const T *x, // (N, C)
                                                                split_scratch split, int C) {
    __shared__ float2 warp_parts[2 * threads / warp_size];
    wait_for_previous_kernel();
    let_next_kernel_start();
    int ticket = split_ticket(split), n = ticket / split.blocks;
    int first = (ticket % split.blocks * threads + threadIdx.x) * width, step = split.blocks * threads * width;

    softmax_partition<T, width, vecs, recompute> partition;
    partition.load(x + (size_t)n * C, first, step, C);
    softmax_part part = partition.warp_part(first, step, C);
    part = block_softmax_merge<T, threads / warp_size>(part, warp_parts);
    split_exchange(split, ticket, make_float2(part.largest, part.sum));
    part = {-FLT_MAX, 0.0f};
    for (int b = threadIdx.x % warp_size; b < split.blocks; b += warp_size) {
        float2 other = __ldcg(split.parts + (size_t)n * split.blocks + b);
        part = softmax_merge<T>(part, {other.x, other.y});
    }
    partition.store(out + (size_t)n * C, first, step, C, warp_softmax_merge<T>(part, warp_size));
}

template <class T, int width, int threads>
__global__ void __launch_bounds__(threads) softmax_stream_kernel(T *out,     // (N, C)
                                                                 const T *x, // (N, C)
                                                                 int C) {
    __shared__ float2 warp_parts[2 * threads / warp_size];
    wait_for_previous_kernel();
    let_next_kernel_start();
    size_t row = (size_t)blockIdx.x * C;
    softmax_part part = {-FLT_MAX, 0.0f};
    vec_of<T, width> loaded;
    float v[width];
    for (int c = threadIdx.x * width; c < C; c += threads * width) {
        loaded.load(x + row + c);
        loaded.unpack(v);
#pragma unroll
        for (int i = 0; i < width; i++) { part = softmax_merge<T>(part, {v[i], 1.0f}); }
    }
    part = warp_softmax_merge<T>(part, warp_size);
    part = block_softmax_merge<T, threads / warp_size>(part, warp_parts);
    float scale = 1.0f / part.sum;
    for (int c = threadIdx.x * width; c < C; c += threads * width) {
        loaded.load(x + row + c);
        loaded.unpack(v);
#pragma unroll
        for (int i = 0; i < width; i++) { v[i] = exponential<T>(v[i] - part.largest) * scale; }
        loaded.pack(v);
        loaded.store(out + row + c);
    }
}

// ---- launchers: their template arguments are columns of the table ----

template <class T, int threads, int vecs, int groups, int cluster, int width, bool recompute = false>
int softmax_rows(T *out, const T *x, int N, int C, cudaStream_t stream) {
    unsigned blocks = (unsigned)((N + groups - 1) / groups) * cluster;
    return launch_clusters({blocks, threads * groups, stream}, cluster,
                           softmax_rows_kernel<T, width, threads, vecs, groups, cluster, recompute>, out, x, N, C);
}

template <class T, int threads, int vecs, int width>
int softmax_split(T *out, const T *x, int N, int C, cudaStream_t stream) {
    int blocks = (C - 1) / (threads * vecs * width) + 1;
    if (blocks > multiprocessor_count() || N > INT_MAX / blocks) { // more than can run at the same time
        return launch({(unsigned)N, threads, stream}, softmax_stream_kernel<T, width, threads>, out, x, C);
    }
    split_scratch split;
    cudaError_t error = split_acquire(&split, N, blocks, stream);
    if (error != cudaSuccess) { return error; }
    int status = launch({(unsigned)(N * blocks), threads, stream},
                        softmax_split_kernel<T, width, threads, vecs, sizeof(T) == 2>, out, x, split, C);
    error = split_release(split, stream);
    return status != cudaSuccess ? status : error;
}

// ---- the choice: the first line whose vecs of a row, element size and compute capability fit ----

template <class T> struct softmax_line {
    int most_vecs, element, capability; // of a row, at most; bytes of an element, 0: any; at least
    int (*launch)(T *out, const T *x, int N, int C, cudaStream_t stream);
};

template <class T> int softmax_speed_of_light(T *out, const T *x, int N, int C, cudaStream_t stream) {
    constexpr int w = vec<T>::size;
    constexpr bool recompute = sizeof(T) == 2;
    static const softmax_line<T> table[] = {
        // vecs of a row, bytes of an element, compute capability
        // threads of a group, vecs of a thread, groups of a block, blocks of a cluster, elements of a vec, recompute
        {32, 0, 0, softmax_rows<T, 32, 1, 8, 1, w>},
        {64, 0, 0, softmax_rows<T, 32, 2, 4, 1, w>},
        {128, 0, 0, softmax_rows<T, 32, 4, 2, 1, w>},
        {256, 4, 0, softmax_rows<T, 32, 8, 1, 1, w>},
        {256, 2, 0, softmax_rows<T, 64, 4, 1, 1, w>},
        {512, 0, 0, softmax_rows<T, 128, 4, 1, 1, w>},
        {1024, 0, 0, softmax_rows<T, 512, 2, 1, 1, w, recompute>},
        {2048, 4, 0, softmax_rows<T, 256, 8, 1, 1, w>},
        {2048, 2, 0, softmax_rows<T, 256, 8, 1, 1, w, recompute>},
        {4096, 0, 0, softmax_rows<T, 512, 8, 1, 1, w, recompute>},
        // softmax_wide: threads of a block, vecs of a thread in registers, in shared memory, blocks of a cluster
        {8192, 2, 90, softmax_wide<T, 512, 4, 12, 1>},
        {8192, 0, 0, softmax_rows<T, 1024, 8, 1, 1, w, recompute>},
        {16384, 4, 90, softmax_rows<T, 512, 8, 1, 4, w>},
        {16384, 2, 90, softmax_wide<T, 512, 8, 8, 2>},
        {32768, 4, 90, softmax_wide<T, 512, 8, 8, 4>},
        {32768, 2, 90, softmax_wide<T, 256, 8, 8, 8>},
        {65536, 4, 90, softmax_wide<T, 512, 6, 10, 8>},
        {65536, 2, 90, softmax_wide<T, 512, 8, 8, 8>},
        // softmax_split: threads of a block, vecs of a thread, elements of a vec
        {INT_MAX, 0, 0, softmax_split<T, 512, 8, w>},
    };
    static const softmax_line<T> by_element[] = {
        // the same for rows that are not aligned to 16 bytes: one element in place of a vec
        {256, 0, 0, softmax_rows<T, 32, 8, 4, 1, 1>},    {1024, 0, 0, softmax_rows<T, 32, 32, 2, 1, 1>},
        {8192, 0, 0, softmax_rows<T, 256, 32, 1, 1, 1>}, {32768, 0, 0, softmax_rows<T, 1024, 32, 1, 1, 1>},
        {INT_MAX, 0, 0, softmax_split<T, 512, 32, 1>},
    };
    bool aligned = rows_aligned<T>(C, {out, x});
    int vecs = aligned ? C / w : C, capability = compute_capability();
    auto fits = [&](const softmax_line<T> &line) {
        return vecs <= line.most_vecs && (line.element == 0 || line.element == sizeof(T)) &&
               capability >= line.capability;
    };
    const softmax_line<T> *line = aligned ? first_that_fits("softmax_forward", table, fits)
                                          : first_that_fits("softmax_forward by element", by_element, fits);
    return line->launch(out, x, N, C, stream);
}
#endif
