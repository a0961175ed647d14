// rows.cuh — rows in registers, and how the threads, blocks and clusters that have a row together combine their parts
//
//   vec_of<T, width>      `width` neighbouring elements, loaded by one access: a vec of 16 bytes, or one element where a
//                         pointer or a row is not aligned to 16 bytes. One kernel serves both. The accesses have no cache
//                         hint: the streaming hint of vec_load_once made nearly all of these kernels slower on an H200
//   exponential<T>        exp, as exact as T can represent; quotient<T> likewise
//   softmax_part          the maximum and the sum of a part of a row; merging the parts of a warp, a block, a cluster
//   block_sum_round, ...  sums and maxima over a block or a cluster, with one barrier
//   split_*               the blocks of a row exchange their parts through global memory
//
// Functions with a parameter `round` are called with 0, 1, 2, ... in a kernel: they use two halves of `shared` in turn, so
// that one barrier is enough.
#ifndef SPEED_OF_LIGHT_ROWS_CUH
#define SPEED_OF_LIGHT_ROWS_CUH

#include "../arguments.cuh"
#include "../reduce.cuh"
#include "../vec.cuh"
#include "hopper.cuh"
#include "scratch.cuh"

#include <float.h>

template <class T, int width> struct vec_of {
    static_assert(width == vec<T>::size, "16 bytes");
    vec<T> content;
    __device__ void load(const T *from) { content = vec_load(from); }
    __device__ void store(T *to) const { vec_store(to, content); }
    __device__ void unpack(float *to) const { vec_unpack(content, to); }
    __device__ void pack(const float *from) { vec_pack(content, from); }
    __device__ void fill(float value) {
        float values[width];
#pragma unroll
        for (int i = 0; i < width; i++) { values[i] = value; }
        pack(values);
    }
};

template <class T> struct vec_of<T, 1> {
    T content;
    __device__ void load(const T *from) { content = *from; }
    __device__ void store(T *to) const { *to = content; }
    __device__ void unpack(float *to) const { *to = to_float(content); }
    __device__ void pack(const float *from) { content = from_float<T>(*from); }
    __device__ void fill(float value) { content = from_float<T>(value); }
};

// exp(scale * x). A 16-bit result has 11 significant bits, so the one-instruction exponential with 22 is exact enough.
template <class T> __device__ inline float exponential(float x, float scale = 1.0f) {
    return fast_exp2(x * (scale * 1.4426950408889634f));
}
template <> __device__ inline float exponential<float>(float x, float scale) {
    return expf(x * scale);
}

// value / sum, given 1 / sum. In fp32 two more instructions round once in place of twice.
template <class T> __device__ inline float quotient(float value, float /*sum*/, float reciprocal) {
    return value * reciprocal;
}
template <> __device__ inline float quotient<float>(float value, float sum, float reciprocal) {
    float result = value * reciprocal;
    return fmaf(fmaf(-result, sum, value), reciprocal, result);
}

// The largest element of a part of a row, and the sum of exp(x - largest). `largest` starts at the lowest finite number: a
// part may be all -inf where the row is not, and -inf - -inf is NaN.
struct softmax_part {
    float largest, sum;
};

template <class T> __device__ inline softmax_part softmax_merge(softmax_part a, softmax_part b) {
    float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * exponential<T>(a.largest - largest) + b.sum * exponential<T>(b.largest - largest)};
}

template <class T> __device__ inline softmax_part warp_softmax_merge(softmax_part part, int lanes, float scale = 1.0f) {
    float largest = part.largest;
#pragma unroll
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        if (offset < lanes) { largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, offset)); }
    }
    float sum = part.sum * exponential<T>(part.largest - largest, scale);
#pragma unroll
    for (int offset = warp_size / 2; offset > 0; offset /= 2) {
        if (offset < lanes) { sum += __shfl_xor_sync(all_lanes, sum, offset); }
    }
    return {largest, sum};
}

// The block's part from those of its warps; all lanes of a warp pass the same part. shared: (2, warps).
template <class T, int warps>
__device__ inline softmax_part block_softmax_merge(softmax_part part, float2 *shared, int round = 0,
                                                   float scale = 1.0f) {
    if (warps == 1) { return part; }
    shared += round % 2 * warps;
    int lane = threadIdx.x % warp_size;
    if (lane == 0) { shared[threadIdx.x / warp_size] = make_float2(part.largest, part.sum); }
    __syncthreads();
    float2 mine = shared[lane % warps];
    return warp_softmax_merge<T>({mine.x, mine.y}, warps, scale);
}

// The cluster's part from those of its blocks. shared: (2, size).
template <class T, int size>
__device__ inline softmax_part cluster_softmax_merge(softmax_part part, float2 *shared, int round = 0) {
    if constexpr (size > 1) {
        float2 mine = cluster_exchange<size>(make_float2(part.largest, part.sum), shared, round);
        part = warp_softmax_merge<T>({mine.x, mine.y}, size);
    }
    return part;
}

// Sum and maximum over a block of values that are the same in all lanes of a warp. shared: (2, warps).
template <int warps> __device__ inline float block_sum_round(float value, float *shared, int round = 0) {
    if (warps == 1) { return value; }
    shared += round % 2 * warps;
    int lane = threadIdx.x % warp_size;
    if (lane == 0) { shared[threadIdx.x / warp_size] = value; }
    __syncthreads();
    return warp_sum(lane < warps ? shared[lane] : 0.0f);
}

template <int warps> __device__ inline float block_max_round(float value, float *shared, int round = 0) {
    if (warps == 1) { return value; }
    shared += round % 2 * warps;
    int lane = threadIdx.x % warp_size;
    if (lane == 0) { shared[threadIdx.x / warp_size] = value; }
    __syncthreads();
    return warp_max(shared[lane % warps]);
}

template <int size> __device__ inline float cluster_sum(float value, float2 *shared, int round = 0) {
    if constexpr (size > 1) {
        value = cluster_exchange<size>(make_float2(value, 0.0f), shared, round).x;
        value = warp_sum((int)threadIdx.x % warp_size < size ? value : 0.0f);
    }
    return value;
}

// ---- several blocks have a row together, without a cluster ----
//
// A block draws a ticket when it starts, and the ticket is its number. The blocks of a row have consecutive tickets: those
// that a block waits for run already or start next, and no block waits for a later row. So it is enough that the blocks of
// one row fit on the GPU at the same time. A cluster needs more: its blocks start together on neighbouring multiprocessors,
// which leaves some multiprocessors idle (fp32, 262144 columns: 0.84 of a copy).

struct split_scratch {
    int *ticket;   // the next one
    int *arrived;  // (N): blocks that have written their part
    float2 *parts; // (N, blocks): the part of each block
    int blocks;    // of a row
};

__device__ inline int split_ticket(const split_scratch &split) {
    __shared__ int ticket;
    if (threadIdx.x == 0) { ticket = atomicAdd(split.ticket, 1); }
    __syncthreads();
    return ticket;
}

// Thread 0 passes the block's part. After the call every thread may read parts[n * blocks + 0 ... blocks - 1] with __ldcg.
__device__ inline void split_exchange(const split_scratch &split, int ticket, float2 mine) {
    if (threadIdx.x == 0) {
        split.parts[ticket] = mine;
        __threadfence(); // the part is visible before the counter
        int *arrived = split.arrived + ticket / split.blocks;
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < split.blocks) {}
        __threadfence();
    }
    __syncthreads();
}

// Zeroed memory for N rows, in stream order.
inline cudaError_t split_acquire(split_scratch *split, int N, int blocks, cudaStream_t stream) {
    size_t counters = ((size_t)N + 1 + 3) / 4 * 16, bytes = counters + (size_t)N * blocks * sizeof(float2);
    char *memory;
#if defined(SCRATCH_FROM_CALLER) && !defined(SIMT_CPU_BACKEND) // whose cudaMemsetAsync takes its own memory only
    memory = (char *)scratch_from_caller(bytes, stream);
    if (memory == nullptr) { return cudaErrorMemoryAllocation; }
#else
    cudaError_t error = cudaMallocAsync((void **)&memory, bytes, stream);
    if (error != cudaSuccess) { return error; }
#endif
    *split = {(int *)memory, (int *)memory + 1, (float2 *)(memory + counters), blocks};
    return cudaMemsetAsync(memory, 0, counters, stream);
}

inline cudaError_t split_release(const split_scratch &split, cudaStream_t stream) {
#if defined(SCRATCH_FROM_CALLER) && !defined(SIMT_CPU_BACKEND)
    (void)split, (void)stream;
    return cudaSuccess;
#else
    return cudaFreeAsync(split.ticket, stream);
#endif
}

#endif
