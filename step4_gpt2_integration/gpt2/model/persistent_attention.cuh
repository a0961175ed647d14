// persistent_attention.cuh — attention in decode_persistent.cu
//
//   attention_part   fetch_first   requests a thread's first keys and values, which are in the cache already
//                    attend        attention to the block's keys of each head, sent to the cluster
//   merge_heads      attention of the cluster's heads, from the parts of its blocks
//
// Key j belongs to the block whose rank is j modulo the number of ranks. So a block reads the keys that it wrote, beside the prompt's.
#ifndef GPT2_PERSISTENT_ATTENTION_CUH
#define GPT2_PERSISTENT_ATTENTION_CUH

#include "gpt2/model/persistent_block.cuh"
#include "gpt2/model/vec16.cuh"

#include <cmath>

// 16 bytes of a key and of its value.
template <class T> struct key_value { vec16<T> key, value; };
template <class T> using first_keys = key_value<T>[2];

// All heads of the cluster: one after the other, or two at a time, each by a team of half of the warps. A group of lanes has a key, and each
// of them 16 bytes of it. A thread requests keys and values two rounds before it uses them. fixed_D: D, or 0 for any
template <class T, int fixed_D, class Weight> struct attention_part {
    static constexpr int size = vec16<T>::size;

    const persistent_block<T, Weight> &block;
    const half_layer &now;
    const int position, D, lanes, rank;   // lanes: of a group
    const int heads, teams, team, thread; // thread: in its team
    const int first, step;                // the thread's first key, and how far it is to the next
    const int at;                         // its first channel
    const int count, newest;              // of the block's keys, with the newest one; its number among them

    __device__ attention_part(const persistent_block<T, Weight> &block, const half_layer &now, int position)
        : block(block), now(now), position(position), D(fixed_D > 0 ? fixed_D : block.task.D), lanes(D / size),
          rank(block_rank()), heads(block.share().heads.count), teams(heads > 1 ? 2 : 1),
          team(teams == 2 ? (int)threadIdx.x / (threads / 2) : 0), thread((int)threadIdx.x - team * (threads / 2)),
          first(thread / warp_size * (warp_size / lanes) + thread % warp_size / lanes),
          step(warps / teams * (warp_size / lanes)), at(thread % lanes * size),
          count((position + ranks - rank) / ranks), newest(position % ranks == rank ? position / ranks : count) {}

    // Of a head of the cluster in the cache, at the thread's channels.
    __device__ int64_t place(int h, int64_t key) const {
        const persistent_task<T, Weight> &task = block.task;
        return now.layer * task.cache_stride + ((int64_t)(block.share().heads.first + h) * task.S + key) * D + at;
    }

    // The block's key i. Zeros, if it does not exist or is not in the cache.
    __device__ key_value<T> fetch(int h, int i) const {
        if (h >= heads || i >= count || i == newest) { return {}; }
        const int64_t from = place(h, i * ranks + rank);
        return {{__ldcg((const uint4 *)(block.task.k + from))}, {__ldcg((const uint4 *)(block.task.v + from))}};
    }

    __device__ void fetch_first(first_keys<T> &keys, int h) const {
        keys[0] = fetch(h, first), keys[1] = fetch(h, first + step);
    }

    // keys: the first of head `team`
    __device__ void attend(first_keys<T> &keys) const {
        const persistent_task<T, Weight> &task = block.task;
        const float log2_scale = task.scale * 1.4426950408889634f; // scores are logarithms to the base 2
        const int width = D + 2;
        float *outs = (float *)(block.dynamic + task.plan.outs) + team * step * width;
        for (int h = team; h < heads + team; h += teams) { // all threads as often
            const int mine = h < heads ? count : 0;
            if (h == team) {
                block.heads().wait(now.layers_before, threadIdx.x == 0, block.flags());
            } else {
                fetch_first(keys, h);
            }
            const T *inputs = (const T *)(block.dynamic + task.plan.heads) + min(h, heads - 1) * D + at;
            const key_value<T> newest_key = {vec16_load(inputs + heads * D), vec16_load(inputs + 2 * heads * D)};
            if (newest < mine && (newest & (step - 1)) == first) { // step is a power of two
                const int64_t to = place(h, position);
                *(uint4 *)(task.k + to) = newest_key.key.bits, *(uint4 *)(task.v + to) = newest_key.value.bits;
            }
            float query[size], o[size] = {}, m = -INFINITY, l = 0.0f; // of the group
            unpack(query, vec16_load(inputs));
#pragma unroll 1
            for (int i = first; i < mine + first; i += step) { // all threads of a team as often
                const key_value<T> key = i == newest ? newest_key : keys[0];
                keys[0] = keys[1], keys[1] = fetch(h, i + 2 * step);
                float values[size], s = 0.0f;
                unpack(values, key.key);
                for (int e = 0; e < size; e++) { s += query[e] * values[e]; }
                for (int offset = lanes / 2; offset > 0; offset /= 2) { s += __shfl_xor_sync(all_lanes, s, offset); }
                if (i >= mine) { continue; }
                const float highest = fmaxf(m, s * log2_scale), smaller = exp2f(m - highest);
                const float weight = exp2f(s * log2_scale - highest);
                m = highest, l = l * smaller + weight;
                unpack(values, key.value);
                for (int e = 0; e < size; e++) { o[e] = o[e] * smaller + weight * values[e]; }
            }

            if (h > team) { meet_block(); } // outs are free
            float *of_group = outs + first * width;
#pragma unroll
            for (int e = 0; e < size; e++) { of_group[at + e] = o[e]; }
            if (at == 0) { of_group[D] = m, of_group[D + 1] = l; }
            meet_block();
            if (h < heads) { send_groups(outs, h, min(mine, step)); }
        }
    }

    // The sum over the groups that have keys. An octet has two channels, and each of its lanes some groups, four of them at a time.
    __device__ void send_groups(const float *outs, int h, int used) const {
        constexpr int together = 4;
        const shared_plan &plan = block.task.plan;
        const int width = D + 2, reader = thread % octet;
        const size_t to = plan.parts_of_heads + (size_t)(h * ranks + rank) * width * sizeof(float);
        const size_t barrier = plan.arrivals + parts_barrier * sizeof(uint64_t);
        for (int base = 0; base < D / 2; base += octets / teams) {
            const int pair = base + thread / octet, d = 2 * min(pair, D / 2 - 1);
            float top = -INFINITY, sum = 0.0f, a = 0.0f, b = 0.0f;
#pragma unroll 1
            for (int done = 0; done < used; done += together * octet) {
                float2 of_group[together], channels[together]; // its largest score and its sum of weights
                float highest = top;
#pragma unroll
                for (int n = 0; n < together; n++) {
                    const int i = done + n * octet + reader;
                    const float *part = outs + min(i, used - 1) * width;
                    of_group[n] = *(const float2 *)(part + D), channels[n] = *(const float2 *)(part + d);
                    if (i >= used) { of_group[n].x = -INFINITY; }
                    highest = fmaxf(highest, of_group[n].x);
                }
                highest = highest_of_octet(highest);
                const float smaller = exp2f(top - highest);
                top = highest, sum *= smaller, a *= smaller, b *= smaller;
#pragma unroll
                for (int n = 0; n < together; n++) {
                    const float weight = exp2f(of_group[n].x - top);
                    sum += weight * of_group[n].y, a += weight * channels[n].x, b += weight * channels[n].y;
                }
            }
            sum = over_octet(sum), a = over_octet(a), b = over_octet(b);
            if (pair >= D / 2 || reader >= ranks) { continue; }
            block.peer().send(to + d * sizeof(float), a, b, barrier);
            if (pair == 0) { block.peer().send(to + D * sizeof(float), top, sum, barrier); }
        }
    }
};

// Into x of the projection. An octet has two channels, and each of its lanes the part of a rank. per_unit: of x in digits
template <class T, int fixed_D, class Weight>
__device__ inline void merge_heads(const persistent_block<T, Weight> &block, const half_layer &now, float per_unit) {
    const persistent_task<T, Weight> &task = block.task;
    const shared_plan &plan = task.plan;
    const int D = fixed_D > 0 ? fixed_D : task.D, pairs = block.share().heads.count * D / 2,
              reader = (int)threadIdx.x % octet;
    if (pairs == 0) { return; }
    const float *parts = (const float *)(block.dynamic + plan.parts_of_heads);
    block.parts_of_heads().wait(now.layers_before, threadIdx.x == 0, block.flags());
    for (int base = 0; base < pairs; base += octets) {
        const int pair = min(base + (int)threadIdx.x / octet, pairs - 1), h = pair / (D / 2),
                  d = 2 * (pair - h * (D / 2));
        const float *part = parts + (h * ranks + min(reader, ranks - 1)) * (D + 2);
        const float top = highest_of_octet(part[D]), weight = reader < ranks ? exp2f(part[D] - top) : 0.0f;
        const float sum = over_octet(weight * part[D + 1]);
        const float over_sum = __fdividef(1.0f, sum);
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
