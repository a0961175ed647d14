// persistent_task.cuh — what the kernel of decode_persistent.cu is given, and how its work is divided
//
//   persistent_task, packet_buffers, shared_plan   its argument: the model, the packets, the block's shared memory
//   any_of_block, over_octet    what the multiplying warps of a block, and eight lanes, do together
//   rows_of_block, widths       rows of a matrix belong to a block, columns to a warp
//   prefetch_vectors            a layer's parameters that are no matrix, into L2
#ifndef GPT2_PERSISTENT_TASK_CUH
#define GPT2_PERSISTENT_TASK_CUH

#include "gpt2/model/candidate.cuh"
#include "gpt2/model/packets.cuh"
#include "gpt2/model/params.cuh"
#include "gpt2/model/weight_ring.cuh"

#include <cstring>
#include <type_traits>

enum { warps = 8, threads = warps * warp_size, octet = 8 };
enum { most_pairs = 4, ahead = 2, keys_each = 128, most_parts = 8, bytes_in_flight = 36 * 1024 };
enum { qkv, projection, fc, mlp, logits, kinds };

// A group of rows is finished together: a row for each octet of lanes. A row has a sum for each half of x.
enum { group_rows = threads / octet, most_units = 4, kept_steps = 4, most_sums = 2, sums_pitch = threads + octet };

#if defined(SIMT_CPU_BACKEND)
enum {
    in_ring = 0,
    most_blocks = 3,
    block_threads = threads
}; // a thread is a fiber there, and all of them exist at the same time
#else
enum { in_ring = 1, most_blocks = 1024, block_threads = threads + warp_size }; // and the streaming warp
#endif

// All packets, in device memory.
struct packet_buffers {
    packet *residual,
        *middle;        // (C)          a float each: the residual stream at the start of a layer, and before its MLP
    packet *qkv;        // (3, H, D)
    packet *attention;  // (H, parts, D, 2)     values, each with the log of its part's sum of exponentials
    packet *hidden;     // (4C)
    packet *candidates; // (blocks, 2)
    float2 *constants;  // (L, 7C) and (V): of the rows of QKV and fc in each layer, and of the logits: fold_norm_kernel
    unsigned *failed;
};

// Of a block's dynamic shared memory, in bytes from its start. The ring's places come first.
struct shared_plan {
    int places, stride, in_flight; // of the ring
    int x_pitch;                   // elements of a row of x
    size_t barriers, parts, statistics, sums, outs, own, x, all;
};

template <class T> struct persistent_task {
    block_weights<T> block;               // of the first layer
    int64_t weights_stride, cache_stride; // to the next layer, in elements
    const T *token_embedding, *position_embedding, *final_weight, *final_bias, *head;
    gpt2_activation activation;
    T *k, *v; // (H, S, D) of the first layer
    packet_buffers packets;
    float *logits; // (V)
    int *positions;
    greedy_state greedy;
    unsigned tag; // of the first step; a step has L tags
    int steps, L, C, H, D, S, V, parts;
    float epsilon, scale, per_channel; // per_channel: 1 / C
    shared_plan plan;
};

// ---- the block's multiplying warps ----

// They meet. Is `value` true in any thread?
__device__ inline bool any_of_block(bool value) {
#if defined(SIMT_CPU_BACKEND) || !defined(__CUDA_ARCH__)
    return __syncthreads_or(value);
#else
    int any;
    asm volatile("{\n\t.reg .pred mine, any;\n\t"
                 "setp.ne.u32 mine, %1, 0;\n\t"
                 "barrier.cta.red.or.pred any, 1, %2, mine;\n\t"
                 "selp.u32 %0, 1, 0, any;\n\t}"
                 : "=r"(any)
                 : "r"((unsigned)value), "n"((int)threads)
                 : "memory");
    return any;
#endif
}

// The sum over the eight lanes of an octet.
__device__ inline float over_octet(float value) {
    for (int offset = octet / 2; offset > 0; offset /= 2) { value += __shfl_xor_sync(all_lanes, value, offset); }
    return value;
}

// ---- a block's rows and a warp's columns ----

struct span {
    int first, count;
};

// The block's part of `rows` rows, which are distributed in groups of `unit`.
__device__ inline span rows_of_block(int rows, int unit) {
    const int units = rows / unit, first = (int)((int64_t)units * blockIdx.x / gridDim.x);
    const int next = (int)((int64_t)units * (blockIdx.x + 1) / gridDim.x);
    return {first * unit, (next - first) * unit};
}

// A warp has W columns, those beyond C among them: there x is zero. The sizes of W are such that C = 768, 1024, 1280 and 1600 fit.
constexpr int widths[] = {96, 128, 160, 224};

// They are read in steps of 64 bytes: 16 for each of four lanes.
template <class T> constexpr int step_columns = 64 / (int)sizeof(T);

// Two elements as they lie in memory. Converting them would wait for them.
template <class T> struct two_elements { std::conditional_t<sizeof(T) == 4, uint2, unsigned> bits; };

template <class T> __device__ inline two_elements<T> load_two(const T *from) {
    return {*(const decltype(two_elements<T>::bits) *)from};
}

template <class T> __device__ inline float2 to_floats(const two_elements<T> &two) {
    T elements[2];
    memcpy(elements, &two, sizeof elements);
    return make_float2(to_float(elements[0]), to_float(elements[1]));
}

// A layer's parameters that are no matrix: few bytes, which all blocks need at the same time. Into L2 a layer ahead.
enum { vectors = 5 };

template <class T> struct vector_part {
    const T *first; // of the first layer
    int64_t stride;
    int count;
};

template <class T> __device__ inline vector_part<T> vector_of(const persistent_task<T> &task, int i) {
    const block_weights<T> &w = task.block;
    const int C = task.C;
    // clang-format off
    const vector_part<T> all[vectors] = {
        {w.ln1_weight,     task.weights_stride, C}, {w.ln2_weight, task.weights_stride, C},
        {w.attention_bias, task.weights_stride, C}, {w.mlp_bias,   task.weights_stride, C},
        {task.final_weight, 0, C},
    };
    // clang-format on
    return all[i];
}

// Each block requests other lines.
template <class T> __device__ inline void prefetch_vectors(const vector_part<T> *all, int layer) {
#if HOPPER_PTX
    constexpr int line = 128 / sizeof(T);
    if (threadIdx.x >= vectors) { return; }
    const vector_part<T> &part = all[threadIdx.x];
    for (int at = blockIdx.x * line; at < part.count; at += gridDim.x * line) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(part.first + layer * part.stride + at));
    }
#else
    (void)all, (void)layer;
#endif
}

#endif
