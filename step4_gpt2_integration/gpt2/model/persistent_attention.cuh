// persistent_attention.cuh — attention in decode_persistent.cu
//
//   group_attention   each group of lanes has a key
//   tile_attention    a warp has 16 keys, which its tensor cores multiply together: 64 channels a head in 16 bits
//   attention_for     the one that a kernel uses
//     request_first     a thread's first keys and values, which are in the cache already
//     attend            attention to the block's keys of each head, sent to the cluster
//   merge_heads       attention of the cluster's heads, from the parts of its blocks
//
// Key j belongs to the block whose rank is j modulo the number of ranks. So a block reads the keys that it wrote, beside the
// prompt's. Scores are logarithms to the base 2. A part of a head has a float for each channel, then the largest score and the
// sum of the exponentials.
#ifndef GPT2_PERSISTENT_ATTENTION_CUH
#define GPT2_PERSISTENT_ATTENTION_CUH

#include "gpt2/model/persistent_block.cuh"
#include "gpt2/model/vec16.cuh"

#include <cfloat>
#include <cmath>
#include <type_traits>

// Attention to `count` sets of keys, at two channels. A quad has the parts of the sets: lane i parts i, i + 4, ...
template <int count> struct attention_of_quad {
    float top = -INFINITY, sum = 0.0f, a = 0.0f, b = 0.0f;

    // pitch: floats from a part to the next; d: the first of the two channels
    __device__ attention_of_quad(const float *parts, int pitch, int D, int d) {
        constexpr int of_lane = (count + (int)quad - 1) / (int)quad;
        float2 limits[of_lane], channels[of_lane]; // limits: the largest score, and the sum
#pragma unroll
        for (int n = 0; n < of_lane; n++) {
            const int i = (int)threadIdx.x % quad + n * (int)quad;
            const float *part = parts + min(i, count - 1) * pitch;
            limits[n] = *(const float2 *)(part + D), channels[n] = *(const float2 *)(part + d);
            if (i >= count) { limits[n].x = -INFINITY; }
            top = fmaxf(top, limits[n].x);
        }
        top = highest_of_quad(top);
#pragma unroll
        for (int n = 0; n < of_lane; n++) {
            const float weight = exp2f(limits[n].x - top);
            sum += weight * limits[n].y, a += weight * channels[n].x, b += weight * channels[n].y;
        }
        sum = over_quad(sum), a = over_quad(a), b = over_quad(b);
    }
};

// What both kinds know of a layer and a block. fixed_D: D, or 0 for any.
// cached: of the block's keys, those before the newest one; has_newest: that is its own, too
template <class T, int fixed_D, class Weight> struct block_attention {
    static constexpr int size = vec16<T>::size;

    const persistent_block<T, Weight> &block;
    const half_layer &now;
    const int D, heads, cached;
    const bool has_newest;

    __device__ block_attention(const persistent_block<T, Weight> &block, const half_layer &now, int position)
        : block(block), now(now), D(fixed_D > 0 ? fixed_D : block.task.D), heads(block.share().heads.count),
          cached((int)((unsigned)(position + ranks - 1 - block_rank()) / ranks)),
          has_newest((unsigned)position % ranks == (unsigned)block_rank()) {}

    // Of a head of the cluster in the cache, in units of 16 bytes: channel d of the block's key i, or of its value. No GPU has
    // room for more than 2^32 of them.
    __device__ unsigned place(int h, int i, int d) const {
        const int first = (block.share().heads.first + h) * block.task.S + block_rank();
        return (unsigned)now.layer * (unsigned)(block.task.cache_stride / size) +
               (unsigned)((first + i * ranks) * (D / size) + d / size);
    }

    // Query, key or value of the newest position. row: it has the cluster's heads
    __device__ const T *input(int row, int h) const {
        return (const T *)(block.dynamic + block.task.plan.heads) + (row * heads + min(h, heads - 1)) * D;
    }

    __device__ float *outs() const { return (float *)(block.dynamic + block.task.plan.outs); }

    // In every rank's memory channel d of the block's part of head h.
    __device__ size_t place_of_part(int h, int d) const {
        return block.task.plan.parts_of_heads + ((size_t)(h * ranks + block_rank()) * (D + 2) + d) * sizeof(float);
    }
};

// ---- groups ----

// One head after the other, or two at a time, each by a team of half of the warps. Each lane of a group has 16 bytes of the
// group's key. Keys and values are requested two rounds before they are used.
template <class T, int fixed_D, class Weight> struct group_attention : block_attention<T, fixed_D, Weight> {
    using base = block_attention<T, fixed_D, Weight>;
    using base::block, base::D, base::heads, base::cached, base::has_newest, base::size;
    struct key_value {
        vec16<T> key, value;
    };
    using requested = key_value[2];

    const int lanes, teams, team, thread; // lanes: of a group; thread: in its team
    const int first, step, at;            // the thread's first key, how far it is to the next; its first channel

    __device__ group_attention(const persistent_block<T, Weight> &block, const half_layer &now, int position)
        : base(block, now, position), lanes(D / size), teams(heads > 1 ? 2 : 1),
          team(teams == 2 ? (int)threadIdx.x / (threads / 2) : 0), thread((int)threadIdx.x - team * (threads / 2)),
          first(thread / warp_size * (warp_size / lanes) + thread % warp_size / lanes),
          step(warps / teams * (warp_size / lanes)), at(thread % lanes * size) {}

    static int outs_floats(int D) { return threads / (D / size) * (D + 2); }

    // The block's key i. Zeros, if it is not in the cache.
    __device__ key_value fetch(int h, int i) const {
        if (h >= heads || i >= cached) { return {}; }
        const unsigned from = this->place(h, i, at);
        return {{__ldcg((const uint4 *)block.task.k + from)}, {__ldcg((const uint4 *)block.task.v + from)}};
    }

    __device__ void request_first(requested &keys, int h) const {
        keys[0] = fetch(h, first), keys[1] = fetch(h, first + step);
    }

    // keys: the first of head `team`
    __device__ void attend(requested &keys) const {
        const persistent_task<T, Weight> &task = block.task;
        const float log2_scale = task.scale * 1.4426950408889634f;
        const int width = D + 2;
        float *outs = this->outs() + team * step * width;
        for (int h = team; h < heads + team; h += teams) { // all threads as often
            const int newest = h < heads && has_newest ? cached : -1, mine = h < heads ? cached + has_newest : 0;
            if (h == team) {
                block.heads().wait(this->now.layers_before, threadIdx.x == 0, block.flags());
            } else {
                request_first(keys, h);
            }
            const key_value newest_key = {vec16_load(this->input(1, h) + at), vec16_load(this->input(2, h) + at)};
            if (newest >= 0 && (newest & (step - 1)) == first) { // step is a power of two
                const unsigned to = this->place(h, newest, at);
                *((uint4 *)task.k + to) = newest_key.key.bits, *((uint4 *)task.v + to) = newest_key.value.bits;
            }
            float query[size], o[size] = {}, m = -INFINITY, l = 0.0f; // of the group
            unpack(query, vec16_load(this->input(0, h) + at));
#pragma unroll 1
            for (int i = first; i < mine + first; i += step) { // all threads of a team as often
                const key_value key = i == newest ? newest_key : keys[0];
                keys[0] = keys[1];
                if (i - first + 2 * step < cached) { keys[1] = fetch(h, i + 2 * step); } // in all threads, or in none
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

    // The sum over the groups that have keys. An octet has two channels, and each of its lanes some groups, four of them at a
    // time.
    __device__ void send_groups(const float *outs, int h, int used) const {
        constexpr int together = 4;
        const int width = D + 2, reader = thread % octet;
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
            if (pair < D / 2) { send(h, d, a, b); }
            if (pair == 0) { send(h, D, top, sum); }
        }
    }

    // To the cluster: of the block's part of head h the channels d and d + 1, or the last two numbers, with d = D. Each lane of
    // an octet sends to another block.
    __device__ void send(int h, int d, float first, float second) const {
        if ((int)threadIdx.x % octet >= ranks) { return; }
        block.peer().send(this->place_of_part(h, d), first, second,
                          block.task.plan.arrivals + parts_barrier * sizeof(uint64_t));
    }
};

// ---- tiles ----

// Two heads at a time, each by a team of half of the warps. Each warp has a part, and the newest key is another.
//
// A round is 16 keys for each warp of a team. They are requested a round before they are used, into the registers of those that
// have been used: to be moved from register to register they would have to be there. The tensor cores multiply them together.
// With g = lane / 4 and t = lane % 4 a lane has, for i = 0 and 1,
//   keys 8 i + g, channels 8 t to 8 t + 7, and those 32 further. Eight keys fill 16 rows: the first and the third pair of each
//   eight channels are in rows 0 to 7, the others in rows 8 to 15. The query's first and third pairs are in even
//   columns, its others in odd ones
//   values 8 i + 2 t and the next one, channels 8 g to 8 g + 7: (64, 16) channels times the weights, their upper halves in
//   even columns, and what these leave in odd ones
template <class T, class Weight> struct tile_attention : block_attention<T, 64, Weight> {
    using base = block_attention<T, 64, Weight>;
    using base::block, base::heads, base::cached, base::has_newest, base::size;
    using of_lane = vec16<T>[2][2];
    struct requested {
        of_lane keys = {}, values = {};
    };

    static constexpr int D = 64, teams = 2, of_team = warps / teams, parts = of_team + 1,
                         pitch = D + 4; // of a part: 16-byte aligned
    static constexpr int keys_of_warp = 16, round_keys = of_team * keys_of_warp;
    static constexpr unsigned of_key = ranks * D / size; // from a key to the block's next
    // warp: in its team. A scheduler has one warp of each team. If there are few keys, only warp 0 has any, so the teams number
    // their warps differently.
    const int team, warp, lane, g, t;

    __device__ tile_attention(const persistent_block<T, Weight> &block, const half_layer &now, int position)
        : base(block, now, position), team((int)threadIdx.x / (threads / teams)),
          warp(((int)threadIdx.x / warp_size + team * (of_team / 2)) % of_team), lane((int)threadIdx.x % warp_size),
          g(lane / 4), t(lane % 4) {}

    static int outs_floats(int) { return teams * parts * pitch; }

    __device__ int first_key() const { return warp * keys_of_warp + g; }
    __device__ int first_value() const { return warp * keys_of_warp + 2 * t; }
    __device__ unsigned place_of_keys(int h) const { return this->place(h, first_key(), t * size); }
    __device__ unsigned place_of_values(int h) const { return this->place(h, first_value(), g * size); }
    __device__ int in_cache(int h) const { return h < heads ? cached : 0; }
    __device__ float *part_of(int i) const { return this->outs() + (team * parts + i) * pitch; }

    // The lane's 16 bytes of the keys of a round, or of its values. first: the number of the first one; from: its place. The
    // second ones are of the key that comes `next` later, or half a head further.
    template <int next>
    __device__ void request(of_lane &to, const T *cache, int first, unsigned from, int count) const {
        constexpr unsigned to_second = next > 0 ? next * of_key : D / 2 / size;
        const uint4 *at = (const uint4 *)cache + from;
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int n = 0; n < 2; n++) {
                if (first + 8 * i + n * next < count) { to[i][n] = {__ldcg(at + 8 * i * of_key + n * to_second)}; }
            }
        }
    }

    __device__ void request_keys(of_lane &keys, int first, unsigned from, int count) const {
        request<0>(keys, block.task.k, first, from, count);
    }

    __device__ void request_values(of_lane &values, int first, unsigned from, int count) const {
        request<1>(values, block.task.v, first, from, count);
    }

    __device__ void request_first(requested &round, int h) const {
        request_keys(round.keys, first_key(), place_of_keys(h), in_cache(h));
        request_values(round.values, first_value(), place_of_values(h), in_cache(h));
    }

    // round: the first of head `team`
    __device__ void attend(requested &round) const {
        const float log2_scale = block.task.scale * 1.4426950408889634f;
        of_lane &keys = round.keys, &values = round.values;
        for (int h = team; h < heads + team; h += teams) { // all threads as often
            const int count = in_cache(h);
            if (h == team) {
                block.heads().wait(this->now.layers_before, threadIdx.x == 0, block.flags());
            } else {
                meet_block(); // outs are free
                request_first(round, h);
            }
            if (warp == of_team - 1) { add_newest(h, log2_scale); }
            float sums[4][4] = {}, m = -FLT_MAX, l = 0.0f; // m: of the warp; l: of the lane's keys
#pragma unroll 1
            for (int done = 0; done < count; done += round_keys) {
                const int next = done + round_keys;
                float products[2][4] = {};
#pragma unroll
                for (int n = 0; n < 2; n++) {
                    const uint32_t *q = (const uint32_t *)(this->input(0, h) + t * size + n * D / 2) + g % 2;
#pragma unroll
                    for (int i = 0; i < 2; i++) {
                        const uint4 &key = keys[i][n].bits;
                        multiply_add<T>(products[i], {key.x, key.y, key.z, key.w}, q[0], q[2]);
                    }
                }
                float s[2], highest = m;
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    s[i] = (products[i][0] + products[i][3]) * log2_scale;
                    if (first_key() + done + 8 * i >= count) { s[i] = -INFINITY; }
                    highest = fmaxf(highest, s[i]);
                }
                if (next < count) { request_keys(keys, first_key() + next, place_of_keys(h) + next * of_key, count); }
                for (int offset = 4; offset < warp_size; offset *= 2) {
                    highest = fmaxf(highest, __shfl_xor_sync(all_lanes, highest, offset));
                }
                const float smaller = exp2f(m - highest);
                m = highest, l *= smaller;
#pragma unroll
                for (auto &sum : sums) {
#pragma unroll
                    for (float &element : sum) { element *= smaller; }
                }
                uint32_t weights[2];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    const float weight = exp2f(s[i] - highest);
                    l += weight;
                    const uint2 words =
                        words_of<T>(__shfl_sync(all_lanes, weight, 8 * t), __shfl_sync(all_lanes, weight, 8 * t + 4));
                    weights[i] = g % 2 == 0 ? words.x : words.y;
                }
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    const uint2 first = channels_of(values[0], c), second = channels_of(values[1], c);
                    multiply_add<T>(sums[c], {first.x, first.y, second.x, second.y}, weights[0], weights[1]);
                }
                if (next < count) {
                    request_values(values, first_value() + next, place_of_values(h) + next * of_key, count);
                }
            }

            for (int offset = 4; offset < warp_size; offset *= 2) { l += __shfl_xor_sync(all_lanes, l, offset); }
            if (t == 0) {
                float *of_warp = part_of(warp);
#pragma unroll
                for (int c = 0; c < 4; c += 2) {
                    *(float4 *)(of_warp + g * size + 2 * c) =
                        make_float4(sums[c][0] + sums[c][1], sums[c][2] + sums[c][3], sums[c + 1][0] + sums[c + 1][1],
                                    sums[c + 1][2] + sums[c + 1][3]);
                }
                if (g == 0) { of_warp[D] = m, of_warp[D + 1] = l; }
            }
            meet_block();
            if (h < heads) { send_part(h); }
        }
    }

    // By one warp: the newest key and value, into the cache, and the part of that key alone.
    __device__ void add_newest(int h, float log2_scale) const {
        const persistent_task<T, Weight> &task = block.task;
        const bool there = has_newest && h < heads;
        const int d = 2 * lane;
        const two_elements<T> key = load_two(this->input(1, h) + d), value = load_two(this->input(2, h) + d);
        const float2 q = to_floats(load_two(this->input(0, h) + d)), k = to_floats(key), v = to_floats(value);
        const float s = warp_sum(q.x * k.x + q.y * k.y) * log2_scale;
        float *part = part_of(of_team);
        part[d] = v.x, part[d + 1] = v.y;
        if (lane == 0) { part[D] = there ? s : -FLT_MAX, part[D + 1] = there ? 1.0f : 0.0f; }
        if (!there) { return; }
        const int64_t to = (int64_t)this->place(h, cached, 0) * size + d;
        *(two_elements<T> *)(task.k + to) = key, *(two_elements<T> *)(task.v + to) = value;
    }

    // The sum of the team's parts, to the cluster. A quad has two channels.
    __device__ void send_part(int h) const {
        static_assert(quads / teams == D / 2, "");
        const int d = 2 * (warp * (warp_size / quad) + lane / quad);
        const attention_of_quad<parts> all(part_of(0), pitch, D, d);
        send(h, d, all.a, all.b);
        if (d == 0) { send(h, D, all.top, all.sum); }
    }

    // To the cluster, what send of group_attention does. A quad calls, and each lane sends to two blocks.
    __device__ void send(int h, int d, float first, float second) const {
        block.send_word(this->place_of_part(h, d), (uint64_t)__float_as_uint(second) << 32 | __float_as_uint(first),
                        parts_barrier);
    }

    // Channels 8 g + 2 c and the next of the lane's two values: a register each.
    __device__ static uint2 channels_of(const vec16<T> (&values)[2], int c) {
        const uint4 &first = values[0].bits, &second = values[1].bits;
        const uint32_t pairs[4][2] = {
            {first.x, second.x}, {first.y, second.y}, {first.z, second.z}, {first.w, second.w}};
        return make_uint2(__byte_perm(pairs[c][0], pairs[c][1], 0x5410), __byte_perm(pairs[c][0], pairs[c][1], 0x7632));
    }
};

// ---- the one of a kernel ----

// W: the columns of a warp. Measured: with tiles 124M (W 96) is 5 % slower at position 64, and larger sizes are 7 to 11 %
// faster at 1000 (docs/decode.md).
template <class T> __host__ __device__ constexpr bool takes_tiles(int D, int W) {
    return sizeof(T) == 2 && D == 64 && W > 96;
}

template <class T, class Weight, int W, int fixed_D>
using attention_for =
    std::conditional_t<takes_tiles<T>(fixed_D, W), tile_attention<T, Weight>, group_attention<T, fixed_D, Weight>>;

// Into x of the projection. A quad has two channels. fixed_D: D, or 0 for any; per_unit: of x in digits
template <int fixed_D, class T, class Weight>
__device__ inline void merge_heads(const persistent_block<T, Weight> &block, const half_layer &now, float per_unit) {
    const persistent_task<T, Weight> &task = block.task;
    const shared_plan &plan = task.plan;
    const int D = fixed_D > 0 ? fixed_D : task.D, pairs = block.share().heads.count * D / 2;
    if (pairs == 0) { return; }
    const float *parts = (const float *)(block.dynamic + plan.parts_of_heads);
    block.parts_of_heads().wait(now.layers_before, threadIdx.x == 0, block.flags());
    for (int base = 0; base < pairs; base += quads) {
        const int pair = min(base + (int)threadIdx.x / quad, pairs - 1), h = pair / (D / 2),
                  d = 2 * (pair - h * (D / 2));
        const attention_of_quad<ranks> all(parts + h * ranks * (D + 2), D + 2, D, d);
        const float over_sum = __fdividef(1.0f, all.sum), a = all.a * over_sum, b = all.b * over_sum;
        uint2 words;
        if constexpr (coded<Weight>) { // two quads have four channels
            words = digits_of_two(a, b, per_unit, quad);
        } else {
            words = words_of<T>(a, b);
        }
        if (threadIdx.x % quad != 0 || base + (int)threadIdx.x / quad >= pairs) { continue; }
        *(uint2 *)(block.dynamic + plan.merged + (size_t)pair * bytes_of_two) = words;
    }
    meet_block();
}

#endif
