// decode_persistent.cu — greedy decoding of one sequence: one cooperative kernel for many tokens (decode_persistent.cuh)
//
// Purpose   A step of decode_fused.cu has 62 launches, and memory is idle at the end of each. Here one kernel runs all steps. While
//           a block waits for the results of others, its next weights come from memory (weight_stream.cuh).
// Math      y = activation?(LayerNorm?(x) W^T + b) + residual?, and softmax(q K^T / sqrt(D)) V, as in decode_fused.cu
// Bytes     The weights and the cache: 247 MB for 124M in bf16, 61 us at the 4.06 TB/s that were measured on an H200.
// Kernel    decode_persistent_kernel<T>: a block of 16 warps on each multiprocessor. A block owns fixed rows of each matrix, and of
//           the residual stream, which it keeps in registers. A step has 5 phases a layer:
//             qkv          LayerNorm of the residual stream, product
//             attention    a part of the keys of a head; parts are merged where they are read
//             projection   merged attention, product, residual add
//             fc           LayerNorm, product, GELU
//             mlp          product, residual add
//           and then the logits, and the choice of the next token: the best of each block's rows, then of all blocks.
//           Each phase needs results of all blocks. They are handed over as packets (packets.cuh).
//           A phase's packets are overwritten one layer later, when the new values depend on all readers of the old ones.
//           New keys and values are written to the cache without a tag. Other blocks read them in later steps: a fence before the
//           choice of the next token orders them.
// Expected  61 hand-overs, 1.8 us each: a packet's way 1.2, LayerNorm 0.2, product 0.3. 110 us; and the logits, 77 MB that are
//           ahead by 24 MB: 14 us. Together 125 us for 124M at a short context. This is a
//           prediction that neither an H200 nor an H100 reaches.
// Measured  On an H100 at 1.98 GHz, in cycles of one block, qkv of 124M at position 64: all packets there 2,300, LayerNorm 700,
//           product 2,200, barrier 200, the rows' sums and packets 1,000, refill of the rings 1,600. Together 4.1 us. Four
//           warps share a scheduler, so the number of instructions may decide, more than the latency of memory; that was not
//           measured by itself. In attention, the merge of 16 warps and its packets take 3,500 cycles, the
//           keys 1,600. The hand-over alone, from all blocks to all blocks, takes 1.0 us if memory is idle otherwise, and 2.8 us if
//           each multiprocessor keeps 32 KB of copies in flight: packets take the same way as the weights.
#include "gpt2/model/decode_persistent.cuh"

#include "common/dependent_launch.cuh"
#include "gpt2/model/activation.cuh"
#include "gpt2/model/candidate.cuh"
#include "gpt2/model/decode_split.cuh"
#include "gpt2/model/packets.cuh"
#include "gpt2/model/weight_stream.cuh"

#include <algorithm>
#include <cmath>
#include <type_traits>

enum { warps = weight_stream_sizes::warps, threads = weight_stream_sizes::threads };
enum { stream_pairs = 2, most_pairs = 4, ahead = 2, keys_each = 128, most_parts = 8, most_channels = 128 };
enum { qkv, projection, fc, mlp, logits, kinds };

#if defined(SIMT_CPU_BACKEND)
enum { most_blocks = 3 }; // a thread is a fiber there, and all of them exist at the same time
#else
enum { most_blocks = 1024 };
#endif

// All packets, in device memory.
struct packet_buffers {
    packet *residual,
        *middle;        // (C)          a float each: the residual stream at the start of a layer, and before its MLP
    packet *qkv;        // (3, H, D)
    packet *attention;  // (H, parts, D, 2)     values, each with the log of its part's sum of exponentials
    packet *hidden;     // (4C)
    packet *candidates; // (blocks, 2)
    unsigned *failed;
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
};

// ---- a block's part ----

struct span {
    int first, count;
};

// The block's part of `rows` rows, which are distributed in groups of `unit`.
__device__ static span rows_of_block(int rows, int unit) {
    const int units = rows / unit, first = (int)((int64_t)units * blockIdx.x / gridDim.x);
    const int next = (int)((int64_t)units * (blockIdx.x + 1) / gridDim.x);
    return {first * unit, (next - first) * unit};
}

// The sum over the block, for all threads. shared: (warps). *failed: in: of this thread; out: of any.
__device__ static float block_sum(float value, float *shared, bool *failed) {
    value = warp_sum(value);
    if (threadIdx.x % warp_size == 0) { shared[threadIdx.x / warp_size] = value; }
    *failed = __syncthreads_or(*failed);
    value = shared[threadIdx.x % warps];
    for (int offset = warps / 2; offset > 0; offset /= 2) { value += __shfl_xor_sync(all_lanes, value, offset); }
    return value;
}

// Two elements as they lie in memory. Converting them would wait for them.
template <class T> struct two_elements { std::conditional_t<sizeof(T) == 4, uint2, unsigned> bits; };

template <class T> __device__ static two_elements<T> load_two(const T *from) {
    return {*(const decltype(two_elements<T>::bits) *)from};
}

template <class T> __device__ static float2 to_floats(const two_elements<T> &two) {
    T elements[2];
    memcpy(elements, &two, sizeof elements);
    return make_float2(to_float(elements[0]), to_float(elements[1]));
}

// A layer's parameters that are no matrix: few bytes, which all blocks need at the same time. Into L2 a layer ahead.
enum { vectors = 10 };

template <class T> struct vector_part {
    const T *first; // of the first layer
    int64_t stride;
    int count;
};

template <class T> __device__ static vector_part<T> vector_of(const persistent_task<T> &task, int i) {
    const block_weights<T> &w = task.block;
    const int C = task.C;
    // clang-format off
    const vector_part<T> all[vectors] = {
        {w.ln1_weight, task.weights_stride, C}, {w.ln1_bias,       task.weights_stride, C},
        {w.ln2_weight, task.weights_stride, C}, {w.ln2_bias,       task.weights_stride, C},
        {w.qkv_bias,   task.weights_stride, 3 * C}, {w.attention_bias, task.weights_stride, C},
        {w.fc_bias,    task.weights_stride, 4 * C}, {w.mlp_bias,       task.weights_stride, C},
        {task.final_weight, 0, C},              {task.final_bias,  0,                   C},
    };
    // clang-format on
    return all[i];
}

// Each block requests other lines.
template <class T> __device__ static void prefetch_vectors(const vector_part<T> *all, int layer) {
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

// ---- what a phase reads ----

// x (C) = LayerNorm(residual stream). The stream comes in packets, or is the embedding of a token where `from` is null.
template <class T>
__device__ static bool receive_normalised(float *x, const persistent_task<T> &task, const packet *from, unsigned tag,
                                          int token, int position, const T *weight, const T *bias, float *shared) {
    const int C = task.C;
    float2 values[stream_pairs] = {};
    two_elements<T> scale[stream_pairs] = {}, shift[stream_pairs] = {};
    uint32_t data[stream_pairs][2] = {};
    unsigned mine = 0;
#pragma unroll
    for (int i = 0; i < stream_pairs; i++) {
        const int c = 2 * ((int)threadIdx.x + i * threads);
        if (c >= C) { continue; }
        mine |= 1u << i;
        scale[i] = load_two(weight + c), shift[i] = load_two(bias + c); // before the wait
    }
    bool failed = false;
    if (from != nullptr) {
        failed = !receive(
            data, mine, [&](int i) { return from + 2 * (threadIdx.x + i * threads); }, tag, task.packets.failed);
    }
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int i = 0; i < stream_pairs; i++) {
        const int c = 2 * ((int)threadIdx.x + i * threads);
        if ((mine >> i & 1) == 0) { continue; }
        if (from != nullptr) {
            values[i] = make_float2(__uint_as_float(data[i][0]), __uint_as_float(data[i][1]));
        } else {
            float2 a = to_floats(load_two(task.token_embedding + (int64_t)token * C + c));
            float2 b = to_floats(load_two(task.position_embedding + (int64_t)position * C + c));
            values[i] = make_float2(a.x + b.x, a.y + b.y);
        }
        sum += values[i].x + values[i].y;
    }
    const float mean = block_sum(sum, shared, &failed) * task.per_channel;
#pragma unroll
    for (int i = 0; i < stream_pairs; i++) {
        if ((mine >> i & 1) == 0) { continue; }
        values[i].x -= mean, values[i].y -= mean;
        squares += values[i].x * values[i].x + values[i].y * values[i].y;
    }
    const float rstd = rsqrtf(block_sum(squares, shared + warps, &failed) * task.per_channel + task.epsilon);
#pragma unroll
    for (int i = 0; i < stream_pairs; i++) {
        const int c = 2 * ((int)threadIdx.x + i * threads);
        if ((mine >> i & 1) == 0) { continue; }
        const float2 a = to_floats(scale[i]), b = to_floats(shift[i]);
        *(float2 *)(x + c) = make_float2(values[i].x * rstd * a.x + b.x, values[i].y * rstd * a.y + b.y);
    }
    __syncthreads();
    return !failed;
}

// x (4C) = the MLP's hidden values
template <class T> __device__ static bool receive_hidden(float *x, const persistent_task<T> &task, unsigned tag) {
    const int pairs = 4 * task.C / per_packet<T> / 2;
    bool failed = false;
    for (int base = threadIdx.x; base < pairs && !failed; base += most_pairs * threads) {
        uint32_t data[most_pairs][2] = {};
        unsigned mine = 0;
        for (int i = 0; i < most_pairs; i++) { mine |= (unsigned)(base + i * threads < pairs) << i; }
        failed = !receive(
            data, mine, [&](int i) { return task.packets.hidden + 2 * (base + i * threads); }, tag,
            task.packets.failed);
#pragma unroll
        for (int i = 0; i < most_pairs; i++) {
            if ((mine >> i & 1) == 0) { continue; }
            float *to = x + (int64_t)(base + i * threads) * 2 * per_packet<T>;
            unpack_elements<T>(to, data[i][0]);
            unpack_elements<T>(to + per_packet<T>, data[i][1]);
        }
    }
    return !__syncthreads_or(failed);
}

// x (C) = attention, merged from the parts of each head: the softmax's weight of a part is exp(its log sum).
template <class T>
__device__ static bool receive_attention(float *x, const persistent_task<T> &task, int parts, unsigned tag) {
    constexpr int width = per_packet<T>;
    const int packets = task.C / width, of_head = task.D / width;
    bool failed = false;
    for (int item = threadIdx.x; item < packets && !failed; item += threads) {
        const int h = item / of_head;
        const packet *from = task.packets.attention + 2 * ((int64_t)h * task.parts * of_head + item % of_head);
        float highest = -INFINITY, sum = 0.0f, values[width] = {};
        for (int first = 0; first < parts && !failed; first += most_pairs) {
            uint32_t data[most_pairs][2] = {};
            const int count = min(parts - first, (int)most_pairs);
            failed = !receive(
                data, (1u << count) - 1, [&](int i) { return from + 2 * (int64_t)(first + i) * of_head; }, tag,
                task.packets.failed);
            if (failed) { break; }
            float higher = highest;
#pragma unroll
            for (int i = 0; i < most_pairs; i++) {
                if (i < count) { higher = fmaxf(higher, __uint_as_float(data[i][1])); }
            }
            const float shrink = expf(highest - higher);
            highest = higher, sum *= shrink;
            for (int e = 0; e < width; e++) { values[e] *= shrink; }
#pragma unroll
            for (int i = 0; i < most_pairs; i++) {
                if (i >= count) { continue; }
                float part[width];
                unpack_elements<T>(part, data[i][0]);
                const float weight = expf(__uint_as_float(data[i][1]) - highest);
                sum += weight;
                for (int e = 0; e < width; e++) { values[e] += weight * part[e]; }
            }
        }
        for (int e = 0; e < width; e++) { x[item * width + e] = values[e] / sum; }
    }
    return !__syncthreads_or(failed);
}

// The best candidate of all blocks, for all threads.
template <class T>
__device__ static bool receive_token(candidate *best, const persistent_task<T> &task, unsigned tag, candidate *shared) {
    candidate mine = no_candidate;
    bool failed = false;
    for (int block = threadIdx.x; block < (int)gridDim.x && !failed; block += threads) {
        uint32_t data[1][2] = {};
        failed = !receive(
            data, 1, [&](int) { return task.packets.candidates + 2 * block; }, tag, task.packets.failed);
        if (!failed) { mine = better(mine, {__uint_as_float(data[0][0]), (int)data[0][1]}); }
    }
    mine = best_of_block(mine, shared);
    if (threadIdx.x == 0) { shared[warps] = mine; }
    failed = __syncthreads_or(failed);
    *best = shared[warps];
    return !failed;
}

// ---- attention ----

__device__ static int keys_of_part(int count, int parts) {
    const int wanted = min(parts, (count + (int)keys_each - 1) / (int)keys_each);
    return (count + wanted - 1) / wanted;
}

// A part of the keys of a head, as decode_split.cu. The first keys and values are requested before the wait for the query.
// outs: (warps, D + 2)
template <class T>
__device__ static bool attend(const persistent_task<T> &task, int layer, int position, int h, int part, int keys,
                              unsigned tag, float *outs) {
    constexpr int size = vec16<T>::size;
    const int D = task.D, lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int lanes = D / size, group = lane / lanes, groups = warp_size / lanes, at = lane % lanes * size;
    const int count = position + 1, begin = part * keys, end = min(begin + keys, count), step = warps * groups;
    T *k = task.k + layer * task.cache_stride + (int64_t)h * task.S * D + at;
    T *v = task.v + layer * task.cache_stride + (int64_t)h * task.S * D + at;
    const packet *query_packets = task.packets.qkv + (h * D + at) / per_packet<T>;
    const int C_packets = task.C / per_packet<T>;

    vec16<T> key[ahead] = {}, value[ahead] = {}; // those of keys that do not exist stay zeros
    auto fetch = [&](int first) {
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            const int j = first + i * step;
            if (j >= min(end, position)) { continue; }
            key[i] = {__ldcg((const uint4 *)(k + (int64_t)j * D))}; // not through L1: other blocks write them
            value[i] = {__ldcg((const uint4 *)(v + (int64_t)j * D))};
        }
    };
    int first = begin + warp * groups + group;
    fetch(first);

    vec16<T> query_bits = {}, new_key = {}, new_value = {};
    auto receive_vec = [&](vec16<T> &to, const packet *from) {
        uint32_t data[2][2] = {};
        bool good = receive(
            data, 3, [&](int i) { return from + 2 * i; }, tag, task.packets.failed);
        to.bits = make_uint4(data[0][0], data[0][1], data[1][0], data[1][1]);
        return good;
    };
    bool good = receive_vec(query_bits, query_packets);
    // The group that has the new token's key.
    if (position < end && position >= first && (position - first) % step == 0) {
        good = good && receive_vec(new_key, query_packets + C_packets) &&
               receive_vec(new_value, query_packets + 2 * C_packets);
        *(uint4 *)(k + (int64_t)position * D) = new_key.bits;
        *(uint4 *)(v + (int64_t)position * D) = new_value.bits;
    }
    float query[size], o[size] = {}, m = -INFINITY, l = 0.0f;
    unpack(query, query_bits);
    for (int start = begin; start < end; start += ahead * step, first += ahead * step) {
        float s[ahead], highest = m;
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            const int j = first + i * step;
            float dot = 0.0f, values[size];
            if (j == position) { key[i] = new_key, value[i] = new_value; }
            unpack(values, key[i]);
            for (int e = 0; e < size; e++) { dot += query[e] * values[e]; }
            dot *= task.scale;
            for (int offset = lanes / 2; offset > 0; offset /= 2) { dot += __shfl_xor_sync(all_lanes, dot, offset); }
            s[i] = j < end ? dot : -INFINITY;
            highest = fmaxf(highest, s[i]);
        }
        if (highest > -INFINITY) { // else this group has had no key yet
            const float shrink = expf(m - highest);
            m = highest, l *= shrink;
            for (int e = 0; e < size; e++) { o[e] *= shrink; }
#pragma unroll
            for (int i = 0; i < ahead; i++) {
                if (s[i] == -INFINITY) { continue; }
                const float weight = expf(s[i] - m);
                float values[size];
                l += weight;
                unpack(values, value[i]);
                for (int e = 0; e < size; e++) { o[e] += weight * values[e]; }
            }
        }
        fetch(first + ahead * step);
    }

    // The groups of a warp, then the warps of the block.
    float highest = m;
    for (int offset = lanes; offset < warp_size; offset *= 2) {
        highest = fmaxf(highest, __shfl_xor_sync(all_lanes, highest, offset));
    }
    const float factor = m == -INFINITY ? 0.0f : expf(m - highest);
    l *= factor;
    for (int offset = lanes; offset < warp_size; offset *= 2) { l += __shfl_xor_sync(all_lanes, l, offset); }
    const int width = D + 2;
#pragma unroll
    for (int e = 0; e < size; e++) {
        o[e] *= factor;
        for (int offset = lanes; offset < warp_size; offset *= 2) { o[e] += __shfl_xor_sync(all_lanes, o[e], offset); }
        if (group == 0) { outs[warp * width + at + e] = o[e]; }
    }
    if (lane == 0) { outs[warp * width + D] = highest, outs[warp * width + D + 1] = l; }
    if (__syncthreads_or(!good)) { return false; }

    constexpr int together = per_packet<T>;
    const int d = threadIdx.x * together;
    if (d < D) {
        float part_m = -INFINITY, part_l = 0.0f, part_o[together] = {};
        for (int w = 0; w < warps; w++) { part_m = fmaxf(part_m, outs[w * width + D]); }
        for (int w = 0; w < warps; w++) {
            const float weight = expf(outs[w * width + D] - part_m); // 0 for a warp without keys
            part_l += weight * outs[w * width + D + 1];
            for (int e = 0; e < together; e++) { part_o[e] += weight * outs[w * width + d + e]; }
        }
        for (int e = 0; e < together; e++) { part_o[e] /= part_l; }
        packet *to = task.packets.attention + 2 * (((int64_t)h * task.parts + part) * D / together + threadIdx.x);
        publish(to, pack_elements<T>(part_o), tag);
        publish(to + 1, bits_of(part_m + logf(part_l)), tag);
    }
    return true;
}

// ---- what a phase writes ----

// y of the block's row r: its slices' sums in their order
template <class T> __device__ static float row_sum(const float *sums, const matrix_part<T> &part, int r) {
    float y = 0.0f;
    for (int slice = 0; slice < part.slices; slice++) { y += sums[slice * part.rows + r]; }
    return y;
}

// Packets of T: the block's rows of qkv, or of the hidden values. early: the bias of the thread's first rows
template <class T>
__device__ static void publish_rows(packet *to, const float *sums, const matrix_part<T> &part, const T *bias,
                                    const T (&early)[per_packet<T>], bool activated, gpt2_activation activation,
                                    unsigned tag) {
    constexpr int width = per_packet<T>;
    for (int r = threadIdx.x * width; r < part.rows; r += threads * width) {
        float y[width];
        for (int e = 0; e < width; e++) {
            y[e] = row_sum(sums, part, r + e) + to_float(r < threads * width ? early[e] : bias[part.first + r + e]);
            if (activated) { y[e] = activate(y[e], activation); }
        }
        publish(to + (part.first + r) / width, pack_elements<T>(y), tag);
    }
}

// ---- the kernel ----

template <class T>
__global__ void __launch_bounds__(threads, 1) decode_persistent_kernel(const persistent_task<T> task, int sum_count) {
    extern __shared__ uint4 dynamic[]; // the ring; sums (sum_count); x (4C)
    __shared__ matrix_part<T> parts[kinds];
    __shared__ item_requests<T> requests[warps];
    __shared__ vector_part<T> small[vectors];
    __shared__ float statistics[2 * warps];
    __shared__ candidate candidates[warps + 1];
    float *sums = (float *)((char *)dynamic + weight_stream<T>::bytes), *x = sums + sum_count;
    const int C = task.C;

    if (threadIdx.x < kinds) {
        constexpr int in_packets = per_packet<T>;
        const block_weights<T> &w = task.block;
        // clang-format off
        const struct { const T *weights; int rows, unit, columns; } all[kinds] = {
            {w.qkv_weight,         3 * C,  in_packets, C},
            {w.attention_weight,   C,      1,          C},
            {w.fc_weight,          4 * C,  in_packets, C},
            {w.mlp_weight,         C,      1,          4 * C},
            {task.head,            task.V, 1,          C},
        };
        // clang-format on
        constexpr int width = weight_stream<T>::width;
        const int kind = threadIdx.x, columns = all[kind].columns;
        const span rows = rows_of_block(all[kind].rows, all[kind].unit);
        parts[kind] = {all[kind].weights + (int64_t)rows.first * columns,
                       kind == logits ? 0 : task.weights_stride,
                       rows.first,
                       rows.count,
                       columns,
                       (columns + width - 1) / width};
    }
    if (threadIdx.x < vectors) { small[threadIdx.x] = vector_of(task, threadIdx.x); }
    __syncthreads();
    prefetch_vectors(small, 0);
    const int choices = task.greedy.settings[0], stop = task.greedy.settings[1], count = task.greedy.count[0];
    int left = task.greedy.left[0], position = task.positions[0], step = 0;
    if (left == 0) {
        if (blockIdx.x == 0) {
            for (int i = threadIdx.x; i < task.steps; i += threads) { task.greedy.chosen[count + i] = -1; }
            if (threadIdx.x == 0) { task.greedy.count[0] = count + task.steps; }
        }
        return;
    }
    weight_stream<T> stream(dynamic, requests, parts, task.L, min(task.steps, left));

    const int logit_end = min(parts[logits].first + parts[logits].rows, choices);
    candidate mine = no_candidate;
    for (int id = parts[logits].first + (int)threadIdx.x; id < logit_end; id += threads) {
        mine = better(mine, {task.logits[id], id});
    }
    const int own_first = parts[projection].first, own_rows = parts[projection].rows;
    bool good = true, ended = false;
    for (; step < task.steps && left > 0; step++) {
        unsigned tag = task.tag + (unsigned)step * (unsigned)task.L;
        mine = best_of_block(mine, candidates);
        __threadfence(); // the step's new keys and values, which other blocks read in the next step
        __syncthreads();
        if (threadIdx.x == 0) {
            publish(task.packets.candidates + 2 * blockIdx.x, bits_of(mine.value), tag);
            publish(task.packets.candidates + 2 * blockIdx.x + 1, (uint32_t)mine.id, tag);
        }
        candidate best;
        good = receive_token(&best, task, tag, candidates);
        if (!good) { break; }
        const bool broken = best.value != best.value;
        const int token = broken ? (int)no_token : best.id;
        if (blockIdx.x == 0 && threadIdx.x == 0) { task.greedy.chosen[count + step] = token; }
        left--;
        if (token == stop || broken) {
            ended = true, left = 0, step++;
            break;
        }

        float own = 0.0f; // the residual stream at the block's row of this thread
        if ((int)threadIdx.x < own_rows) {
            const int c = own_first + threadIdx.x;
            own = to_float(task.token_embedding[(int64_t)token * C + c]) +
                  to_float(task.position_embedding[(int64_t)position * C + c]);
        }
        const int keys = keys_of_part(position + 1, task.parts), units = (position + keys) / keys;
        const block_weights<T> &w = task.block;
        for (int layer = 0, kind = qkv; kind != kinds;) {
            const int64_t at = layer * task.weights_stride;
            const matrix_part<T> &part = parts[kind];
            const bool in_packets = kind == qkv || kind == fc;
            const T *bias = (kind == qkv          ? w.qkv_bias
                             : kind == projection ? w.attention_bias
                             : kind == fc         ? w.fc_bias
                                                  : w.mlp_bias) +
                            at;
            T early[per_packet<T>] = {}; // the bias of the thread's rows, loaded before the wait
            for (int e = 0; e < per_packet<T> && kind != logits; e++) {
                const int r = in_packets ? (int)threadIdx.x * per_packet<T> + e : (int)threadIdx.x;
                if (r < part.rows) { early[e] = bias[part.first + r]; }
            }
            if (kind == projection) {
                good = receive_attention(x, task, units, tag);
            } else if (kind == mlp) {
                good = receive_hidden(x, task, tag);
            } else {
                const packet *from = kind == fc                  ? task.packets.middle
                                     : layer == 0 && kind == qkv ? nullptr
                                                                 : task.packets.residual;
                const T *weight = kind == qkv ? w.ln1_weight + at : kind == fc ? w.ln2_weight + at : task.final_weight;
                const T *shift = kind == qkv ? w.ln1_bias + at : kind == fc ? w.ln2_bias + at : task.final_bias;
                good = receive_normalised(x, task, from, kind == fc ? tag : tag - 1, token, position, weight, shift,
                                          statistics);
            }
            if (!good) { break; }
            stream.multiply(sums, x, part);
            __syncthreads();
            if (in_packets) {
                publish_rows(kind == qkv ? task.packets.qkv : task.packets.hidden, sums, part, bias, early, kind == fc,
                             task.activation, tag);
            } else if (kind == logits) {
                mine = no_candidate;
                for (int r = threadIdx.x; r < part.rows; r += threads) {
                    const int id = part.first + r;
                    const float y = row_sum(sums, part, r);
                    task.logits[id] = y;
                    if (id < choices) { mine = better(mine, {y, id}); }
                }
            } else if ((int)threadIdx.x < own_rows) {
                const int c = own_first + threadIdx.x;
                own += row_sum(sums, part, threadIdx.x) + to_float(early[0]);
                publish((kind == mlp ? task.packets.residual : task.packets.middle) + c, bits_of(own), tag);
            }
            stream.refill();
            if (kind == qkv) {
                prefetch_vectors(small, layer + 1 < task.L ? layer + 1 : 0);
                for (int unit = blockIdx.x; unit < task.H * units && good; unit += gridDim.x) {
                    __syncthreads(); // sums are free
                    good = attend(task, layer, position, unit % task.H, unit / task.H, keys, tag, sums);
                }
                if (!good) { break; }
            }
            if (kind == mlp) {
                tag++, layer++;
                kind = layer < task.L ? qkv : logits;
            } else {
                kind++;
            }
        }
        if (!good) { break; }
        position = min(position + 1, task.S - 1);
    }
    stream.finish();
    if (blockIdx.x != 0 || !good) { return; }
    // All other blocks have read these, for their results were needed here.
    for (int i = step + (int)threadIdx.x; i < task.steps; i += threads) { task.greedy.chosen[count + i] = -1; }
    if (threadIdx.x == 0) {
        task.greedy.count[0] = count + task.steps;
        task.greedy.left[0] = ended ? 0 : left;
        task.positions[0] = position;
    }
}

// ---- on the host ----

template <class T> static int blocks_for(const gpt2_device &device, const gpt2_config &config) {
    const int packets = 4 * config.channels / per_packet<T>; // each block has some of the hidden values
    return std::min({device.multiprocessors, (int)most_blocks, packets});
}

static int parts_for(const gpt2_config &config, int blocks) {
    return std::clamp(blocks / config.heads, 1, (int)most_parts);
}

// Floats of shared memory for the sums of a product, or the parts of attention.
template <class T> static int sum_count(const gpt2_config &config, int blocks) {
    constexpr int width = weight_stream<T>::width;
    const int C = config.channels, V = config.vocabulary;
    auto items = [&](int rows, int unit, int columns) {
        return ((rows / unit + blocks - 1) / blocks) * unit * ((columns + width - 1) / width);
    };
    const int unit = per_packet<T>;
    const int most = std::max({items(3 * C, unit, C), items(C, 1, C), items(4 * C, unit, C), items(C, 1, 4 * C),
                               items(V, 1, C), warps * (C / config.heads + 2)});
    return (most + 3) / 4 * 4;
}

template <class T> static size_t shared_bytes(const gpt2_config &config, int blocks) {
    return weight_stream<T>::bytes +
           ((size_t)sum_count<T>(config, blocks) + 4 * (size_t)config.channels) * sizeof(float);
}

template <class T> bool decode_persistent_takes(const gpt2_device &device, const gpt2_config &config) {
    constexpr size_t fixed = 2048; // the kernel's own variables
    const int C = config.channels, D = C / config.heads, blocks = blocks_for<T>(device, config);
    const int rows = (C + blocks - 1) / blocks; // of the residual stream, one a thread
    int device_id = 0, cooperative = 0;
    if (cudaGetDevice(&device_id) != cudaSuccess ||
        cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device_id) != cudaSuccess) {
        return false;
    }
    return cooperative && device.capability >= 90 && C % vec16<T>::size == 0 && C <= 2 * stream_pairs * threads &&
           rows <= threads && decode_split_takes<T>(D) &&
           shared_bytes<T>(config, blocks) + fixed <= (size_t)most_shared_memory();
}

template <class T> static packet_buffers lay_out(arena &from, const gpt2_device &device, const gpt2_config &config) {
    const int C = config.channels, blocks = blocks_for<T>(device, config);
    packet_buffers buffers;
    from.take(buffers.residual, C);
    from.take(buffers.middle, C);
    from.take(buffers.qkv, 3 * C / per_packet<T>);
    from.take(buffers.attention, (int64_t)2 * parts_for(config, blocks) * C / per_packet<T>);
    from.take(buffers.hidden, 4 * C / per_packet<T>);
    from.take(buffers.candidates, 2 * blocks);
    from.take(buffers.failed, 1);
    return buffers;
}

template <class T> size_t decode_persistent_bytes(const gpt2_device &device, const gpt2_config &config) {
    arena count = {nullptr, 0};
    lay_out<T>(count, device, config);
    return count.used;
}

template <class T> int decode_persistent(gpt2_device &device, tensors<T> &all, int steps) {
    const gpt2_config &config = all.config;
    const params<T> &w = all.weights;
    const int blocks = blocks_for<T>(device, config), L = config.layers, D = config.channels / config.heads;
    const int64_t tags = (int64_t)steps * L;
    persistent_memory &memory = all.work.persistent;
    if (memory.tag == 0 || memory.tag + tags > UINT32_MAX) { // no packet has a tag yet, or all tags have been used
        TRY(cudaMemsetAsync(memory.base, 0, decode_persistent_bytes<T>(device, config), device.stream));
        memory.tag = 1;
    }
    arena place = {memory.base, 0};
    persistent_task<T> task = {};
    task.packets = lay_out<T>(place, device, config);
    task.tag = (unsigned)memory.tag;
    memory.tag += tags;
    task.block = w.blocks[0];
    task.k = all.cache[0].k, task.v = all.cache[0].v;
    if (L > 1) { // lay_out of params.cu gives each layer the same places, one after the other
        task.weights_stride = w.blocks[1].ln1_weight - w.blocks[0].ln1_weight;
        task.cache_stride = all.cache[1].k - all.cache[0].k;
    }
    task.head = w.head, task.activation = config.activation;
    task.token_embedding = w.token_embedding, task.position_embedding = w.position_embedding;
    task.final_weight = w.final_weight, task.final_bias = w.final_bias;
    task.logits = all.work.logits, task.positions = all.work.positions, task.greedy = all.work.greedy;
    task.steps = steps, task.L = L, task.C = config.channels, task.H = config.heads, task.D = D;
    task.S = all.context, task.V = config.vocabulary, task.parts = parts_for(config, blocks);
    task.epsilon = config.epsilon, task.scale = 1.0f / sqrtf((float)D),
    task.per_channel = 1.0f / (float)config.channels;

    int sums = sum_count<T>(config, blocks);
    const size_t shared = shared_bytes<T>(config, blocks);
    TRY(allow_shared_memory(decode_persistent_kernel<T>, shared));
    cudaLaunchConfig_t launch = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    launch.gridDim = dim3((unsigned)blocks), launch.blockDim = dim3(threads);
    launch.dynamicSmemBytes = shared, launch.stream = device.stream;
    launch.attrs = &attribute, launch.numAttrs = 1;
    return cudaLaunchKernelEx(&launch, decode_persistent_kernel<T>, task, sums);
}

template <class T> int decode_persistent_outcome(gpt2_device &device, tensors<T> &all) {
    persistent_memory &memory = all.work.persistent;
    arena place = {memory.base, 0};
    unsigned failed = 0;
    TRY(cudaMemcpy(&failed, lay_out<T>(place, device, all.config).failed, sizeof failed, cudaMemcpyDeviceToHost));
    if (failed == 0) { return 0; }
    memory.tag = 0; // begin anew
    return cudaErrorLaunchTimeout;
}

#define INSTANTIATE(T)                                                                    \
    template bool decode_persistent_takes<T>(const gpt2_device &, const gpt2_config &);   \
    template size_t decode_persistent_bytes<T>(const gpt2_device &, const gpt2_config &); \
    template int decode_persistent(gpt2_device &, tensors<T> &, int);                     \
    template int decode_persistent_outcome(gpt2_device &, tensors<T> &);
FOR_EACH_TYPE(INSTANTIATE)
