// persistent_task.cuh — what the kernel of decode_persistent.cu is given, and how its work is divided
//
//   persistent_task, packet_buffers, shared_plan   its argument: the model, the packets, the block's shared memory
//   share_of_cluster, part_of_block                heads and hidden values belong to a cluster, rows of a matrix to a block
//   any_of_block, over_octet, over_quad            what the multiplying warps of a block, and eight or four lanes, do together
//   prefetch_vectors                               a layer's parameters that are no matrix, into L2
#ifndef GPT2_PERSISTENT_TASK_CUH
#define GPT2_PERSISTENT_TASK_CUH

#include "gpt2/model/candidate.cuh"
#include "gpt2/model/cluster.cuh"
#include "gpt2/model/params.cuh"
#include "gpt2/model/weight_ring.cuh"

#include <cstring>
#include <type_traits>

enum { warps = 8, threads = warps * warp_size, octet = 8, octets = threads / octet };
enum { quad = 4, quads = threads / quad, most_clusters = 16 };
enum { bytes_in_flight = 64 * 1024, most_piece_bytes = 27 * 1024 }; // of copies; of a unit of pieces
enum { qkv, projection, fc, mlp, logits, kinds };

// Up to four units of eight rows are multiplied together, and finished together: a row for each octet of lanes.
enum { unit_rows = 8, most_units = 4, group_rows = most_units * unit_rows, kept_steps = 3 };
static_assert((int)group_rows == (int)octets);

#if defined(SIMT_CPU_BACKEND)
enum { in_ring = 0, block_threads = threads }; // a thread is a fiber there, and all of them exist at the same time
#else
enum { in_ring = 1, block_threads = threads + streaming_threads };
#endif

// All packets, in device memory.
struct packet_buffers {
    packet *projected, *expanded; // (clusters, C)   parts of the sums that attention and MLP add to the residual stream
    packet *candidates;           // (blocks, 2)
    packet *bases;                // (blocks, 2)     memory_of_peer
    float2 *constants; // (L, 7C) and (V): of the rows of QKV and fc in each layer, and of the logits: fold_norm_kernel
    unsigned *failed;
};

// Of a block's dynamic shared memory, in bytes from its start. A name's two places take turns.
struct shared_plan {
    size_t own;                   // (pairs of the rank, 2)            the residual stream
    size_t x[2];                  // (warps, halves, x_pitch)          a LayerNorm's result, but for mean and deviation
    size_t statistics[2];         // (ranks, warps, 2)                 sums of it and of its squares
    size_t heads, parts_of_heads; // (3, heads, D), (heads, ranks, D + 2)  query, key, value; attention to a rank's keys
    size_t merged, hidden;        // (halves, merged_pitch), (hidden)
    size_t sums, norms, outs;     // (2, group_rows, warps), (2, warps, 2), (warps, groups, D + 2)
    size_t parts;                 // (kinds)                           of matrices
    size_t arrivals;              // barriers: (2, warps) for x, (2) for statistics, heads, parts_of_heads, hidden
    size_t ring_barriers, records, places; // weight_ring.cuh
    size_t all;
    int x_pitch, merged_pitch; // elements of a row
    int ring_bytes, in_flight;
    int batch; // units that are multiplied together; 0: the ring is too small
};
enum {
    statistics_barrier = 2 * warps,
    heads_barrier = statistics_barrier + 2,
    parts_barrier,
    hidden_barrier,
    arrival_barriers
};

template <class T> struct persistent_task {
    block_weights<T> block;               // of the first layer
    int64_t weights_stride, cache_stride; // to the next layer, in elements
    const T *token_embedding, *position_embedding, *final_weight, *head;
    gpt2_activation activation;
    T *k, *v; // (H, S, D) of the first layer
    packet_buffers packets;
    float *logits; // (V)
    int *positions;
    greedy_state greedy;
    unsigned tag; // of the first step; a step has L tags
    int steps, L, C, H, D, S, V;
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

__device__ inline float over_quad(float value) {
    for (int offset = quad / 2; offset > 0; offset /= 2) { value += __shfl_xor_sync(all_lanes, value, offset); }
    return value;
}

__device__ inline float highest_of_octet(float value) {
    for (int offset = octet / 2; offset > 0; offset /= 2) {
        value = fmaxf(__shfl_xor_sync(all_lanes, value, offset), value);
    }
    return value;
}

// Zero, which the compiler does not know. What depends on it is computed where it is needed: in a loop with many phases, values kept from
// one iteration to the next would fill the registers, and beside this much shared memory the L1 cache is too small for the rest.
__device__ inline int unknown_zero() {
    int zero = 0;
#if HOPPER_PTX
    asm volatile("mov.u32 %0, 0;" : "=r"(zero));
#endif
    return zero;
}

// ---- a cluster's heads and hidden values, a block's rows, a warp's columns ----

struct span {
    int first, count;
};

// The part `index` of `parts` of a range, which is distributed in groups of `unit`.
__host__ __device__ inline span part_of(int total, int unit, int index, int parts) {
    const int units = total / unit, first = (int)((int64_t)units * index / parts);
    const int next = (int)((int64_t)units * (index + 1) / parts);
    return {first * unit, (next - first) * unit};
}

// They are read in steps of 64 bytes: 16 for each of four lanes.
template <class T> constexpr int step_columns = 64 / (int)sizeof(T);

// A cluster has whole heads. Where all have some, those with more heads have fewer hidden values, so that they read as many bytes: a head
// has 4 D rows or columns of C weights, a hidden value 2.
struct cluster_share {
    span heads, hidden;
};

template <class T> __host__ __device__ inline cluster_share share_of_cluster(int C, int H, int index, int clusters) {
    const int D = C / H, unit = 4 * C % step_columns<T> == 0 ? step_columns<T> : 16 / (int)sizeof(T);
    int begin = 0, end = 0; // hidden values
    for (int k = 0; k <= index; k++) {
        begin = end;
        const int64_t heads_so_far = (int64_t)H * (k + 1) / clusters;
        const int64_t wanted = H < clusters ? (int64_t)4 * C * (k + 1) / clusters
                                            : (int64_t)6 * C * (k + 1) / clusters - 2 * D * heads_so_far;
        const int next = (int)(wanted / unit) * unit;
        end = k + 1 == clusters ? 4 * C : next < begin ? begin : next > 4 * C ? 4 * C : next;
    }
    return {part_of(H, 1, index, clusters), {begin, end - begin}};
}

// A warp has W columns, those beyond C among them: there x is zero. The sizes of W are such that C = 768, 1024, 1280 and 1600 fit.
constexpr int widths[] = {96, 128, 160, 224};

// What the block reads of matrix `kind`.
template <class T>
__device__ inline matrix_part<T> part_of_block(const persistent_task<T> &task, const cluster_share &share, int kind) {
    const block_weights<T> &w = task.block;
    const int C = task.C, D = task.D, rank = block_rank(), pair = 4 / (int)sizeof(T);
    const span head_rows = part_of(share.heads.count * D, pair, rank, ranks);
    const span hidden_rows = part_of(share.hidden.count, pair, rank, ranks), columns = part_of(C, 2, rank, ranks);
    const span ids = part_of(task.V, 1, blockIdx.x, gridDim.x);
    const int heads_first = share.heads.first * D, hidden_first = share.hidden.first;
    const int64_t layer = task.weights_stride;
    const auto unit_of_pieces = [](int columns) { // of a unit: a power of two
        const int fit = most_piece_bytes / ring_stride(columns * (int)sizeof(T));
        return fit >= 32 ? 32 : fit >= 16 ? 16 : (int)unit_rows;
    };
    if (kind == qkv) {
        const int first = heads_first + head_rows.first;
        return {w.qkv_weight + (int64_t)first * C, layer,           (int64_t)C * C, C,     C,
                head_rows.count > 0 ? 3 : 0,       head_rows.count, unit_rows,      first, C};
    }
    if (kind == projection) {
        return {w.attention_weight + (int64_t)columns.first * C + heads_first,
                layer,
                0,
                C,
                share.heads.count * D,
                share.heads.count > 0,
                columns.count,
                unit_of_pieces(share.heads.count * D),
                columns.first,
                0};
    }
    if (kind == fc) {
        const int first = hidden_first + hidden_rows.first;
        return {w.fc_weight + (int64_t)first * C, layer, 0, C, C, 1, hidden_rows.count, unit_rows, first, 0};
    }
    if (kind == mlp) {
        return {w.mlp_weight + (int64_t)columns.first * 4 * C + hidden_first,
                layer,
                0,
                4 * C,
                share.hidden.count,
                share.hidden.count > 0,
                columns.count,
                unit_of_pieces(share.hidden.count),
                columns.first,
                0};
    }
    return {task.head + (int64_t)ids.first * C, 0, 0, C, C, 1, ids.count, unit_rows, ids.first, 0};
}

// ---- a layer's parameters that are no matrix ----

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

// Few bytes, which all blocks need at the same time. Into L2 a layer ahead, by a warp: each block requests other lines.
template <class T> __device__ inline void prefetch_vectors(const persistent_task<T> &task, int layer) {
#if HOPPER_PTX
    const block_weights<T> &w = task.block;
    const T *const vectors[] = {w.ln1_weight, w.attention_bias, w.ln2_weight, w.mlp_bias};
    constexpr int line = 128 / sizeof(T);
    const int lines = (task.C + line - 1) / line;
    for (int i = 0; i < 4; i++) {
        const int at = (int)blockIdx.x - i * lines + (int)(threadIdx.x % warp_size * gridDim.x);
        if (at < 0 || at >= lines) { continue; }
        const T *from = layer < task.L ? vectors[i] + layer * task.weights_stride : task.final_weight;
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from + at * line));
    }
#else
    (void)task, (void)layer;
#endif
}

#endif
