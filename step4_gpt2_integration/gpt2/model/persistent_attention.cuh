// persistent_attention.cuh — attention in decode_persistent.cu: keys_of_part, and attend, a part of the keys of a head
#ifndef GPT2_PERSISTENT_ATTENTION_CUH
#define GPT2_PERSISTENT_ATTENTION_CUH

#include "gpt2/model/persistent_task.cuh"
#include "gpt2/model/vec16.cuh"

#include <cmath>

// How many of `count` keys a part has: at most keys_each where `parts` parts suffice.
__device__ inline int keys_of_part(int count, int parts) {
    const int wanted = min(parts, (count + (int)keys_each - 1) / (int)keys_each);
    return (count + wanted - 1) / wanted;
}

// A part of the keys of a head, as decode_split.cu. fixed_D: D, or 0 for any. The first keys and values are requested before the wait
// for the query.
// outs: (warps, D + 2)
template <class T, int fixed_D>
__device__ inline bool attend(const persistent_task<T> &task, int layer, int position, int h, int part, int keys,
                              unsigned tag, float *outs) {
    constexpr int size = vec16<T>::size;
    const int D = fixed_D > 0 ? fixed_D : task.D, lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
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

    // The group that has the new token's key also needs that key and its value.
    const bool newest = position < end && position >= first && (position - first) % step == 0;
    uint32_t data[6][2] = {};
    bool good = receive(
        data, newest ? 63 : 3, [&](int i) { return query_packets + i / 2 * C_packets + i % 2 * 2; }, tag,
        task.packets.failed);
    const auto vector = [&](int i) {
        return vec16<T>{make_uint4(data[i][0], data[i][1], data[i + 1][0], data[i + 1][1])};
    };
    const vec16<T> query_bits = vector(0), new_key = vector(2), new_value = vector(4);
    if (newest) {
        *(uint4 *)(k + (int64_t)position * D) = new_key.bits;
        *(uint4 *)(v + (int64_t)position * D) = new_value.bits;
    }
    float query[size], o[size] = {}, m = -INFINITY, l = 0.0f; // m: of the warp
    unpack(query, query_bits);
    for (int start = begin; start < end; start += ahead * step, first += ahead * step) {
        float s[ahead] = {}, highest = m;
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            float values[size];
            if (first + i * step == position) { key[i] = new_key, value[i] = new_value; }
            unpack(values, key[i]);
            for (int e = 0; e < size; e++) { s[i] += query[e] * values[e]; }
        }
        for (int offset = lanes / 2; offset > 0; offset /= 2) {
#pragma unroll
            for (int i = 0; i < ahead; i++) { s[i] += __shfl_xor_sync(all_lanes, s[i], offset); }
        }
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            s[i] = first + i * step < end ? s[i] * task.scale : -INFINITY;
            highest = fmaxf(highest, s[i]);
        }
        for (int offset = lanes; offset < warp_size; offset *= 2) {
            highest = fmaxf(highest, __shfl_xor_sync(all_lanes, highest, offset));
        }
        if (highest == -INFINITY) { continue; } // the warp has no key yet, and has none later
        const float smaller = expf(m - highest);
        m = highest, l *= smaller;
        for (int e = 0; e < size; e++) { o[e] *= smaller; }
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            const float weight = expf(s[i] - m);
            float values[size];
            l += weight;
            unpack(values, value[i]);
            for (int e = 0; e < size; e++) { o[e] += weight * values[e]; }
        }
        if (start + ahead * step < end) { fetch(first + ahead * step); }
    }

    // The groups of a warp, then the warps of the block.
    for (int offset = lanes; offset < warp_size; offset *= 2) {
        l += __shfl_xor_sync(all_lanes, l, offset);
#pragma unroll
        for (int e = 0; e < size; e++) { o[e] += __shfl_xor_sync(all_lanes, o[e], offset); }
    }
    const int width = D + 2;
#pragma unroll
    for (int e = 0; e < size; e++) {
        if (group == 0) { outs[warp * width + at + e] = o[e]; }
    }
    if (lane == 0) { outs[warp * width + D] = m, outs[warp * width + D + 1] = l; }
    if (any_of_block(!good)) { return false; }

    constexpr int together = per_packet<T>;
    const int d = threadIdx.x * together;
    if (d < D) {
        float part_m = -INFINITY, part_l = 0.0f, part_o[together] = {};
#pragma unroll
        for (int w = 0; w < warps; w++) { part_m = fmaxf(part_m, outs[w * width + D]); }
#pragma unroll
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

#endif
