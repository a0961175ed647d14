// persistent_attention.cuh — attention in decode_persistent.cu
//
//   attend        the block's part of the keys of each head, sent to the cluster
//   merge_heads   attention of the cluster's heads, from the parts of its blocks
//
// Key j belongs to the block whose rank is j modulo the number of ranks. So a block reads the keys that it wrote, beside the prompt's.
#ifndef GPT2_PERSISTENT_ATTENTION_CUH
#define GPT2_PERSISTENT_ATTENTION_CUH

#include "gpt2/model/persistent_block.cuh"
#include "gpt2/model/vec16.cuh"

#include <cmath>

// Of all heads of the cluster: one after the other, or two at a time, each by half of the warps. fixed_D: D, or 0 for any. Keys and values
// are requested before the wait for the query, and before those of the round before are used.
// phase: how many layers came before
template <class T, int fixed_D, class Weight>
__device__ inline void attend(const persistent_block<T, Weight> &block, int layer, int position, unsigned phase) {
    constexpr int size = vec16<T>::size;
    const persistent_task<T, Weight> &task = block.task;
    const shared_plan &plan = task.plan;
    const int D = fixed_D > 0 ? fixed_D : task.D, heads = block.share().heads.count;
    const bool two = heads > 1; // teams
    const int team = two ? (int)threadIdx.x / (threads / 2) : 0, of_team = two ? threads / 2 : threads;
    const int thread = (int)threadIdx.x - team * of_team, lane = thread % warp_size, lanes = D / size,
              at = lane % lanes * size;
    const int groups = warp_size / lanes, step = (two ? warps / 2 : warps) * groups; // keys of a warp, of a team
    const int rank = block_rank(), first = thread / warp_size * groups + lane / lanes;
    const int count = (position + ranks - rank) / ranks;                    // of the block's keys, with the newest
    const int newest = position % ranks == rank ? position / ranks : count; // its number among them
    const float log2_scale = task.scale * 1.4426950408889634f;              // scores are logarithms to the base 2
    const int width = D + 2;
    float *outs = (float *)(block.dynamic + plan.outs) + team * step * width;
    for (int h = team; h < heads + team; h += two ? 2 : 1) { // all threads as often
        const int keys = h < heads ? count : 0;
        const int64_t of_head = layer * task.cache_stride + (int64_t)(block.share().heads.first + h) * task.S * D;
        T *k = task.k + of_head + at, *v = task.v + of_head + at;

        struct pair {
            vec16<T> key, value;
        };
        const auto fetch = [&](int i) { // of the block's key i. Zeros, if it does not exist
            pair fetched = {};
            if (i < keys && i != newest) {
                const int64_t row = (int64_t)(i * ranks + rank) * D;
                fetched = {{__ldcg((const uint4 *)(k + row))}, {__ldcg((const uint4 *)(v + row))}};
            }
            return fetched;
        };
        pair next = fetch(first);
        if (h == team) { block.heads().wait(phase, threadIdx.x == 0, block.flags()); }
        const T *inputs = (const T *)(block.dynamic + plan.heads) + min(h, heads - 1) * D + at;
        const int row = heads * D;
        const pair newest_pair = {vec16_load(inputs + row), vec16_load(inputs + 2 * row)};
        if (newest < keys && (newest & (step - 1)) == first) { // step is a power of two
            *(uint4 *)(k + (int64_t)position * D) = newest_pair.key.bits;
            *(uint4 *)(v + (int64_t)position * D) = newest_pair.value.bits;
        }
        float query[size], o[size] = {}, m = -INFINITY, l = 0.0f; // of the group
        unpack(query, vec16_load(inputs));
        for (int i = first; i < keys + first; i += step) { // all threads of a team as often
            const pair now = i == newest ? newest_pair : next;
            next = fetch(i + step);
            float values[size], s = 0.0f;
            unpack(values, now.key);
            for (int e = 0; e < size; e++) { s += query[e] * values[e]; }
            for (int offset = lanes / 2; offset > 0; offset /= 2) { s += __shfl_xor_sync(all_lanes, s, offset); }
            if (i >= keys) { continue; }
            const float highest = fmaxf(m, s * log2_scale), smaller = exp2f(m - highest);
            const float weight = exp2f(s * log2_scale - highest);
            m = highest, l = l * smaller + weight;
            unpack(values, now.value);
            for (int e = 0; e < size; e++) { o[e] = o[e] * smaller + weight * values[e]; }
        }

        if (h > team) { meet_block(); } // outs are free
        float *of_group = outs + first * width;
#pragma unroll
        for (int e = 0; e < size; e++) { of_group[at + e] = o[e]; }
        if (at == 0) { of_group[D] = m, of_group[D + 1] = l; }
        meet_block();
        if (h >= heads) { continue; }

        // The groups of the team: an octet has two channels, and each of its lanes some groups.
        const int reader = thread % octet;
        float top = -INFINITY;
        const int used = min(keys, step); // groups that have keys
#pragma unroll 1
        for (int i = reader; i < used; i += octet) { top = fmaxf(top, outs[i * width + D]); }
        top = highest_of_octet(top);
        const size_t to = plan.parts_of_heads + (size_t)(h * ranks + rank) * width * sizeof(float);
        const size_t barrier = plan.arrivals + parts_barrier * sizeof(uint64_t);
        for (int base = 0; base < D / 2; base += two ? octets / 2 : octets) {
            const int pair = base + thread / octet, d = 2 * min(pair, D / 2 - 1);
            float sum = 0.0f, a = 0.0f, b = 0.0f;
#pragma unroll 1
            for (int i = reader; i < used; i += octet) {
                const float *part = outs + i * width;
                const float weight = exp2f(part[D] - top);
                sum += weight * part[D + 1], a += weight * part[d], b += weight * part[d + 1];
            }
            sum = over_octet(sum), a = over_octet(a), b = over_octet(b);
            if (pair >= D / 2 || reader >= ranks) { continue; }
            block.peer().send(to + d * sizeof(float), a, b, barrier);
            if (pair == 0) { block.peer().send(to + D * sizeof(float), top, sum, barrier); }
        }
    }
}

// Into x of the projection. An octet has two channels, and each of its lanes the part of a rank. per_unit: of x in digits
template <class T, class Weight>
__device__ inline void merge_heads(const persistent_block<T, Weight> &block, unsigned phase, float per_unit) {
    const persistent_task<T, Weight> &task = block.task;
    const shared_plan &plan = task.plan;
    const int D = task.D, pairs = block.share().heads.count * D / 2, reader = (int)threadIdx.x % octet;
    const float *parts = (const float *)(block.dynamic + plan.parts_of_heads);
    block.parts_of_heads().wait(phase, threadIdx.x == 0, block.flags());
    for (int base = 0; base < pairs; base += octets) {
        const int pair = min(base + (int)threadIdx.x / octet, pairs - 1), h = pair / (D / 2),
                  d = 2 * (pair - h * (D / 2));
        const float *part = parts + (h * ranks + min(reader, ranks - 1)) * (D + 2);
        const float top = highest_of_octet(part[D]), weight = reader < ranks ? exp2f(part[D] - top) : 0.0f;
        const float sum = over_octet(weight * part[D + 1]);
        const float over_sum = 1.0f / sum;
        const float a = over_octet(weight * part[d]) * over_sum, b = over_octet(weight * part[d + 1]) * over_sum;
        uint2 words;
        if constexpr (coded<Weight>) { // two octets have four channels
            words = digits_of_two(a, b, per_unit, octet);
        } else {
            words = words_of<T>(a, b);
        }
        if (reader != 0 || base + (int)threadIdx.x / octet >= pairs) { continue; }
        *(uint2 *)(block.dynamic + plan.merged + (size_t)pair * bytes_of_two) = words;
    }
    meet_block();
}

#endif
