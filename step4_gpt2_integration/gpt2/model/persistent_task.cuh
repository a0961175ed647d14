// persistent_task.cuh — what the kernel of decode_persistent.cu is given, and how its work is divided
//
//   persistent_task, packet_buffers, shared_plan   its argument: the model, the packets, the block's shared memory
//   meet_block, any_of_block, over_octet, ...      what the multiplying warps of a block, and eight or four lanes, do together
//   share_of_cluster, block_state, part_of_block   heads and hidden values belong to a cluster, rows of a matrix to a block
//   half_layer                                     the parts of a step
//   vector_prefetch                                a layer's parameters that are no matrix, into L2
#ifndef GPT2_PERSISTENT_TASK_CUH
#define GPT2_PERSISTENT_TASK_CUH

#include "gpt2/model/candidate.cuh"
#include "gpt2/model/cluster.cuh"
#include "gpt2/model/params.cuh"
#include "gpt2/model/totals.cuh"
#include "gpt2/model/weight_ring.cuh"

#include <array>
#include <cstring>
#include <type_traits>

enum { warps = 8, threads = warps * warp_size, octet = 8, octets = threads / octet };
enum { quad = 4, quads = threads / quad, most_clusters = 16 };
static_assert(most_clusters < most_parts, "a total has a part of each cluster, and one of the embedding");

// Of whole rows up to 32 are multiplied together: a group. Two groups are finished together: a row for each quad of lanes. A
// product takes eight of the rows, or two times eight. Of boxes of columns up to eight are multiplied together.
enum { groups = 2, group_rows = quads / groups, eights = group_rows / 8, most_boxes = 8 };
template <class Weight> constexpr int most_boxes_of_rows = group_rows / box_rows<Weight>;
template <class Weight> constexpr int boxes_of_eight = 8 / box_rows<Weight>;
enum { sums_pitch = 2 * quads + 8 }; // two parts of each row; the lanes of a warp read different banks

// The weights are of type Weight: the model's type T, or codes of 8 bits, which have a scale for each row.
template <class Weight> constexpr bool coded = std::is_same_v<Weight, int8_code>;

#if defined(SIMT_CPU_BACKEND)
enum { in_ring = 0, most_threads = threads }; // a thread is a fiber there, and all of them exist at the same time
#else
enum { in_ring = 1, most_threads = threads + (most_streamers + 1) * warp_size };
#endif

// The largest magnitudes of a layer: of the gains of both LayerNorms, of a value, and of a hidden value.
struct layer_bounds {
    float gain1, value, gain2, hidden;
};

// Of a product with codes: 1 / the unit of its input (persistent_block.cuh). Of a LayerNorm's, for a stream whose largest
// magnitude is 1: units_of_stream.
struct layer_units {
    float gain1, value, gain2, hidden;
};

// Packets, totals and constants, in device memory.
struct packet_buffers {
    total *attended, *expanded; // (C)             what attention and MLP have added to the stream so far
    packet *candidates;         // (blocks, 2)     of the next token
    packet *weighed, *drawn;    // (blocks, 2), (2)
    packet *bases;              // (blocks, 2)     where their shared memory is, on the CPU backend (cluster_memory)
    // Of the rows of QKV and fc in each layer, and of the logits: (L, 7C) and (V). fold_norm_kernel
    float2 *constants;
    // Of products with codes: (L + 1). The last one has the gain of the logits' LayerNorm, a token's embedding as `value`, and
    // a position's as `hidden`.
    layer_bounds *bounds;
    wait_state *waits;    // of all blocks (packets.cuh)
    unsigned *imprecise;  // a value was too large for the totals; the unit of an input in digits too small or too large
    float *logits_before; // (V)  the logits before the call
};

// Of a block's dynamic shared memory, in bytes from its start. A name's two places take turns.
struct shared_plan {
    size_t state;         // block_state: 0
    size_t own, others;   // (pairs of the rank, 2)            the token's embedding; the other totals of the stream
    size_t x[2];          // (warps W, halves)                 a LayerNorm's result, but for mean and deviation
    size_t statistics[2]; // (ranks, warps, 2)                 sums of it and of its squares
    size_t norms;         // (2 buffers)                       mean and deviation, as norm_of_stream has them
    size_t heads, parts_of_heads; // (3, heads, D), (heads, ranks, D + 2)  query, key, value; attention to a rank's keys
    size_t merged, hidden;        // (heads D, halves), (hidden, halves)
    size_t sums, outs;            // (2, warps, sums_pitch), (warps, groups, D + 2)
    size_t logits;                // (rows of the block)
    size_t parts;                 // (kinds)                           of matrices
    size_t units;                 // (L + 1)                           layer_units, with codes; last, over_embedding
    size_t arrivals;              // barriers: (2, warps) for x, (2) for statistics, heads, parts_of_heads, hidden
    size_t ring_barriers, boxes;  // weight_ring.cuh
    size_t all;
    int places, place_bytes, streamers, bytes_of_whole, bytes_of_columns; // of the ring
    int batch; // boxes that are multiplied together; 0: the ring is too small
};
enum {
    statistics_barrier = 2 * warps,
    heads_barrier = statistics_barrier + 2,
    parts_barrier,
    hidden_barrier,
    arrival_barriers
};

__device__ inline ring_memory ring_of(char *dynamic, const shared_plan &plan) {
    uint64_t *const barriers = (uint64_t *)(dynamic + plan.ring_barriers);
    return {dynamic + plan.boxes, barriers,       barriers + most_places, plan.places,
            plan.place_bytes,     plan.streamers, plan.bytes_of_whole,    plan.bytes_of_columns};
}

template <class T, class Weight> struct persistent_task {
    block_weights<T> block;               // of the first layer
    const Weight *matrices[kinds];        // likewise
    const float *scales[kinds];           // of their rows, if they are codes
    int64_t weights_stride, cache_stride; // to the next layer, in elements
    int64_t matrix_stride, scales_stride;
    lookup_table<T> token_embedding;
    const T *position_embedding, *final_weight;
    gpt2_activation activation;
    T *k, *v; // (H, S, D) of the first layer
    packet_buffers packets;
    float *logits; // (V)
    int *positions;
    choice_state choice;
    unsigned tag; // of the first step; a step has L tags
    int steps, L, C, H, D, S, V;
    float epsilon, scale, per_channel; // per_channel: 1 / C
    shared_plan plan;
};

// ---- the block's multiplying warps ----

__device__ inline void meet_block() {
#if defined(SIMT_CPU_BACKEND) || !defined(__CUDA_ARCH__)
    __syncthreads();
#else
    __syncwarp();
    asm volatile("barrier.cta.sync.aligned 1, %0;" ::"n"((int)threads) : "memory");
#endif
}

// They meet the norm warp (persistent_stream.cuh), too. On the CPU backend there is none: its __syncthreads() would wait for it
// at every other barrier.
__device__ inline void meet_norm_warp() {
#if defined(SIMT_CPU_BACKEND) || !defined(__CUDA_ARCH__)
    __syncthreads();
#else
    __syncwarp();
    asm volatile("barrier.cta.sync.aligned 2, %0;" ::"n"((int)(threads + warp_size)) : "memory");
#endif
}

// `count` threads meet at a barrier. Is `value` true in any of them?
template <int barrier, int count> __device__ inline bool any_at_barrier(bool value) {
#if defined(SIMT_CPU_BACKEND) || !defined(__CUDA_ARCH__)
    return __syncthreads_or(value);
#else
    int any;
    __syncwarp();
    asm volatile("{\n\t.reg .pred mine, any;\n\t"
                 "setp.ne.u32 mine, %1, 0;\n\t"
                 "barrier.cta.red.or.aligned.pred any, %2, %3, mine;\n\t"
                 "selp.u32 %0, 1, 0, any;\n\t}"
                 : "=r"(any)
                 : "r"((unsigned)value), "n"(barrier), "n"(count)
                 : "memory");
    return any;
#endif
}

__device__ inline bool any_of_block(bool value) {
    return any_at_barrier<1, threads>(value);
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

__device__ inline float highest_of_quad(float value) {
    for (int offset = quad / 2; offset > 0; offset /= 2) {
        value = fmaxf(__shfl_xor_sync(all_lanes, value, offset), value);
    }
    return value;
}

__device__ inline float highest_of_octet(float value) {
    for (int offset = octet / 2; offset > 0; offset /= 2) {
        value = fmaxf(__shfl_xor_sync(all_lanes, value, offset), value);
    }
    return value;
}

// Zero, which the compiler does not know. What depends on it is computed where it is needed: in a loop with many phases, values
// kept from one iteration to the next would fill the registers, and beside this much shared memory the L1 cache is too small
// for the rest.
__device__ inline int unknown_zero() {
    int zero = 0;
#if HOPPER_PTX
    asm volatile("mov.u32 %0, 0;" : "=r"(zero));
#endif
    return zero;
}

// Has the compiler compute `value` before what follows.
__device__ inline void compute_here(int &value) {
#if HOPPER_PTX
    asm volatile("" : "+r"(value));
#else
    (void)value;
#endif
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

// A cluster has whole heads. Where all have some, those with more heads have fewer hidden values, so that they read as many
// bytes: a head has 4 D rows or columns of C weights, a hidden value 2.
struct cluster_share {
    span heads, hidden;
};

template <class Weight>
__host__ __device__ inline cluster_share share_of_cluster(int C, int H, int index, int clusters) {
    const int D = C / H, unit = 4 * C % box_columns<Weight> == 0 ? box_columns<Weight> : 16 / (int)sizeof(Weight);
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

// At the start of a block's dynamic shared memory.
struct block_state {
    block_flags flags;
    cluster_share share;
    span columns; // of the residual stream
    int position; // of the first step
};

// Rows of a matrix, and columns of the residual stream, are divided so that values which are sent together belong to one block.
template <class T, class Weight> constexpr int row_unit = coded<Weight> ? 4 : 4 / (int)sizeof(T);
template <class Weight> constexpr int column_unit = coded<Weight> ? 4 : 2;

// A warp has W columns, those beyond C among them: there x is zero. The sizes of W are such that C = 768, 1024, 1280 and 1600
// fit.
template <class Weight> constexpr std::array<int, 4> widths = {96, 128, 160, 224};
template <> inline constexpr std::array<int, 4> widths<int8_code> = {64, 128, 192, 256};

// What registers hold of the weights before x is there: columns of whole rows, in steps of 64 bytes, and boxes of columns.
template <int W> constexpr int kept_steps = W <= 96 ? 3 : W <= 128 ? 2 : 1;
template <int W> constexpr int kept_columns = W <= 96 ? 2 : 1;

// What the block reads of matrix `kind`.
template <class T, class Weight>
__device__ inline matrix_part<Weight> part_of_block(const persistent_task<T, Weight> &task, const cluster_share &share,
                                                    int kind) {
    const Weight *matrix = task.matrices[kind];
    const int C = task.C, D = task.D, rank = block_rank();
    const span head_rows = part_of(share.heads.count * D, 4 / (int)sizeof(T), rank, ranks);
    const span hidden_rows = part_of(share.hidden.count, row_unit<T, Weight>, rank, ranks);
    const span columns = part_of(C, column_unit<Weight>, rank, ranks), ids = part_of(task.V, 1, blockIdx.x, gridDim.x);
    const int heads_first = share.heads.first * D, hidden_first = share.hidden.first;
    const auto whole = [&](int row, int rows, int runs, int value, int values_of_run) {
        const int boxes = (rows + box_rows<Weight> - 1) / box_rows<Weight>;
        return matrix_part<Weight>{
            matrix,       kind == logits ? 0 : task.matrix_stride, C, row, 0, rows, C, runs, C, 1, boxes, value,
            values_of_run};
    };
    const auto some_columns = [&](int pitch, const span &of) {
        const int boxes = (of.count + box_columns<Weight> - 1) / box_columns<Weight>;
        return matrix_part<Weight>{
            matrix, task.matrix_stride, pitch, columns.first, of.first, columns.count, of.count, of.count > 0, 0, 0,
            boxes};
    };
    switch (kind) {
        case qkv:
            return whole(heads_first + head_rows.first, head_rows.count, head_rows.count > 0 ? 3 : 0, head_rows.first,
                         share.heads.count * D);
        case projection: return some_columns(C, {heads_first, share.heads.count * D});
        case fc: return whole(hidden_first + hidden_rows.first, hidden_rows.count, 1, hidden_rows.first, 0);
        case mlp: return some_columns(4 * C, share.hidden);
    }
    return whole(ids.first, ids.count, 1, 0, 0);
}

// ---- a step's parts ----

// A half of a layer, attention or MLP, or the logits. Each begins with a LayerNorm of the residual stream.
struct half_layer {
    int layer, kind;        // kind: of the product with whole rows: qkv, fc, logits
    unsigned layers_before; // since the kernel began
    unsigned phase;         // how many LayerNorms were in the same buffer before
    unsigned parts;         // of the totals that it reads: how many there have been

    __device__ int buffer() const { return kind == fc; }
    __device__ bool is_first() const { return layer == 0 && kind == qkv; }
};

// half: of a step, at most 2 L
template <class T, class Weight>
__device__ inline half_layer half_at(const persistent_task<T, Weight> &task, int step, int half) {
    const int layer = half / 2, kind = half == 2 * task.L ? logits : half % 2 == 0 ? qkv : fc;
    const unsigned layers_before = (unsigned)(step * task.L + layer), clusters = gridDim.x / ranks;
    return {layer, kind, layers_before, layers_before + (kind == fc ? 0u : (unsigned)step),
            kind == fc ? clusters * (layers_before + 1) : clusters * layers_before + (unsigned)step + 1};
}

// ---- a layer's parameters that are no matrix ----

// Two elements as they lie in memory, and as floats. Where they are loaded they are not taken apart, which would wait for them.
template <class T> struct two_elements { uint32_t words[sizeof(T) / 2]; };

template <class T> __device__ inline two_elements<T> load_two(const T *from) {
    return *(const two_elements<T> *)from;
}

template <class T> __device__ inline float2 to_floats(two_elements<T> two) {
#if HOPPER_PTX
    for (uint32_t &word : two.words) { asm volatile("" : "+r"(word)); }
#endif
    T elements[2];
    memcpy(elements, two.words, sizeof elements);
    return make_float2(to_float(elements[0]), to_float(elements[1]));
}

// Few bytes, which all blocks need at the same time. A thread of each block requests some lines of one vector into L2, a layer
// ahead.
template <class T> struct vector_prefetch {
    enum { vectors = 4, line = 128 / sizeof(T) };
    const T *of_layers, *last; // in the first layer; for the last matrix, if this block has it
    int64_t stride;
    int C, L;

    template <class Weight>
    __device__ explicit vector_prefetch(const persistent_task<T, Weight> &task)
        : last(nullptr), stride(task.weights_stride), C(task.C), L(task.L) {
        const block_weights<T> &w = task.block;
        switch (blockIdx.x % vectors) {
            case 0: of_layers = w.ln1_weight, last = task.final_weight; break;
            case 1: of_layers = w.attention_bias; break;
            case 2: of_layers = w.ln2_weight; break;
            default: of_layers = w.mlp_bias;
        }
    }

    __device__ void request(int layer) const {
#if HOPPER_PTX
        const T *from = layer == L ? last : of_layers + layer * stride;
        if (from == nullptr) { return; }
        for (int c = (int)blockIdx.x / vectors * line; c < C; c += (int)gridDim.x / vectors * line) {
            asm volatile("prefetch.global.L2 [%0];" ::"l"(from + c));
        }
#else
        (void)layer;
#endif
    }
};

#endif
