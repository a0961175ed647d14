// persistent_input.cuh — what a phase of decode_persistent.cu reads of other blocks: x at the columns of a warp
//
//   receive_stream      the residual stream, for a LayerNorm
//   receive_attention   the attention, from the parts of each head
//   receive_hidden      the MLP's hidden values
//   receive_token       the choice of the next token
#ifndef GPT2_PERSISTENT_INPUT_CUH
#define GPT2_PERSISTENT_INPUT_CUH

#include "gpt2/model/persistent_task.cuh"
#include "gpt2/model/tensor_core.cuh"

#include <cmath>

// x has four rows of `pitch` elements. A 16-bit type does not hold a float, so x takes two rows: its upper half, and what that leaves.

template <class T> constexpr int halves = sizeof(T) == 2 ? 2 : 1;

// Of a LayerNorm's input. fp16 ends at 65504, and the residual stream times a gain may exceed that.
template <class T> constexpr float shrink = type_of<T>::file == GPT2_F16 ? 1.0f / 64.0f : 1.0f;

// `count` neighbouring values, 4 bytes of T or 8.
template <class T, int count> __device__ inline void put(T *x, int pitch, const float (&values)[count]) {
    if constexpr (sizeof(T) == 4) {
        for (int e = 0; e < count; e++) { x[e] = values[e]; }
    } else {
        static_assert(count == 2);
        const uint32_t upper = pack<T>(values[0], values[1]);
        const float2 two = unpack<T>(upper);
        *(uint32_t *)x = upper;
        *(uint32_t *)(x + pitch) = pack<T>(values[0] - two.x, values[1] - two.y);
    }
}

// x = halves of (residual stream - pivot) g. *sums: of the lane's values less the pivot, and of their squares. The stream comes in
// packets, or is the embedding of a token where `from` is null.
template <class T, int W>
__device__ inline bool receive_stream(T *x, float2 *sums, const persistent_task<T> &task, span columns,
                                      const packet *from, unsigned tag, int token, int position, const T *gain,
                                      float pivot) {
    constexpr int stream_pairs = (W / 2 + warp_size - 1) / warp_size;
    const int lane = (int)threadIdx.x % warp_size;
    two_elements<T> g[stream_pairs] = {};
    uint32_t data[stream_pairs][2] = {};
    unsigned mine = 0;
#pragma unroll
    for (int i = 0; i < stream_pairs; i++) {
        const int c = 2 * (lane + i * warp_size);
        if (c >= columns.count) { continue; }
        mine |= 1u << i;
        g[i] = load_two(gain + columns.first + c); // before the wait
    }
    bool good = true;
    if (from != nullptr) {
        good = receive(
            data, mine, [&](int i) { return from + columns.first + 2 * (lane + i * warp_size); }, tag,
            task.packets.failed);
    }
    *sums = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < stream_pairs; i++) {
        if ((mine >> i & 1) == 0) { continue; }
        const int c = 2 * (lane + i * warp_size);
        float2 value = make_float2(__uint_as_float(data[i][0]), __uint_as_float(data[i][1]));
        if (from == nullptr) {
            const int64_t at = columns.first + c;
            const float2 a = to_floats(load_two(task.token_embedding + (int64_t)token * task.C + at));
            const float2 b = to_floats(load_two(task.position_embedding + (int64_t)position * task.C + at));
            value = make_float2(a.x + b.x, a.y + b.y);
        }
        const float2 scale = to_floats(g[i]);
        value.x -= pivot, value.y -= pivot;
        const float scaled[2] = {value.x * scale.x * shrink<T>, value.y * scale.y * shrink<T>};
        put(x + c, task.plan.x_pitch, scaled);
        sums->x += value.x + value.y;
        sums->y += value.x * value.x + value.y * value.y;
    }
    return good;
}

// x = the MLP's hidden values: the warp's columns of each piece, a row each
template <class T>
__device__ inline bool receive_hidden(T *x, const persistent_task<T> &task, span columns, unsigned tag) {
    constexpr int width = 2 * per_packet<T>; // elements of a pair
    bool good = true;
    for (int i = threadIdx.x % warp_size; i < columns.count / width && good; i += warp_size) {
        uint32_t data[most_pairs][2] = {};
        good = receive(
            data, (1u << most_pairs) - 1,
            [&](int piece) { return task.packets.hidden + (piece * task.C + columns.first) / per_packet<T> + 2 * i; },
            tag, task.packets.failed);
#pragma unroll
        for (int piece = 0; piece < most_pairs; piece++) {
            *(uint2 *)(x + piece * task.plan.x_pitch + i * width) = make_uint2(data[piece][0], data[piece][1]);
        }
    }
    return good;
}

// x = halves of the attention, merged from the parts of each head: the softmax's weight of a part is exp(its log sum).
template <class T, int W>
__device__ inline bool receive_attention(T *x, const persistent_task<T> &task, span columns, int parts, unsigned tag) {
    constexpr int width = per_packet<T>, items = (W / width + warp_size - 1) / warp_size;
    const int of_head = task.D / width;
    const int lane = (int)threadIdx.x % warp_size;
    const auto first_part = [&](int i) { // of the lane's item i
        const int item = columns.first / width + lane + i * warp_size, h = item / of_head;
        return task.packets.attention + 2 * ((int64_t)h * task.parts * of_head + item - h * of_head);
    };
    unsigned mine = 0;
#pragma unroll
    for (int i = 0; i < items; i++) { mine |= (unsigned)(lane + i * warp_size < columns.count / width) << i; }
    T *to = x + lane * width;
    bool good = true;
    if (parts == 1) {
        const packet *from[items];
#pragma unroll
        for (int i = 0; i < items; i++) { from[i] = first_part(i); }
        uint32_t data[items][2] = {};
        good = receive(
            data, mine, [&](int i) { return from[i]; }, tag, task.packets.failed);
#pragma unroll
        for (int i = 0; i < items; i++) {
            float values[width];
            unpack_elements<T>(values, data[i][0]);
            if (mine >> i & 1) { put(to + i * warp_size * width, task.plan.x_pitch, values); }
        }
        return good;
    }
#pragma unroll 1
    for (int i = 0; i < items && good; i++) {
        if ((mine >> i & 1) == 0) { break; }
        const packet *first = first_part(i);
        float highest = -INFINITY, sum = 0.0f, values[width] = {};
        uint32_t data[most_parts][2] = {};
        good = receive(
            data, (1u << parts) - 1, [&](int part) { return first + 2 * (int64_t)part * of_head; }, tag,
            task.packets.failed);
#pragma unroll
        for (int part = 0; part < most_parts; part++) {
            if (part < parts) { highest = fmaxf(highest, __uint_as_float(data[part][1])); }
        }
#pragma unroll
        for (int part = 0; part < most_parts; part++) {
            if (part >= parts) { continue; }
            float of_part[width];
            unpack_elements<T>(of_part, data[part][0]);
            const float weight = expf(__uint_as_float(data[part][1]) - highest);
            sum += weight;
            for (int e = 0; e < width; e++) { values[e] += weight * of_part[e]; }
        }
        for (int e = 0; e < width; e++) { values[e] /= sum; }
        put(to + i * warp_size * width, task.plan.x_pitch, values);
    }
    return good;
}

// The best of each warp's candidate, and of all blocks', for all threads. shared: (warps)
__device__ inline candidate best_of_warps(candidate mine, candidate *shared, bool *good) {
    mine = best_of_warp(mine);
    if (threadIdx.x % warp_size == 0) { shared[threadIdx.x / warp_size] = mine; }
    *good = !any_of_block(!*good);
    return best_of_warp(shared[threadIdx.x % warps]);
}

template <class T>
__device__ inline bool receive_token(candidate *best, const persistent_task<T> &task, unsigned tag, candidate *shared) {
    candidate mine = no_candidate;
    bool good = true;
    for (int block = threadIdx.x; block < (int)gridDim.x && good; block += threads) {
        uint32_t data[1][2] = {};
        good = receive(
            data, 1, [&](int) { return task.packets.candidates + 2 * block; }, tag, task.packets.failed);
        if (good) { mine = better(mine, {__uint_as_float(data[0][0]), (int)data[0][1]}); }
    }
    *best = best_of_warps(mine, shared, &good);
    return good;
}

#endif
