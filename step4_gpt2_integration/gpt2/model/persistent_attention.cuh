// persistent_attention.cuh — attention in decode_persistent.cu
//
//   attention_part   request_first   a thread's first keys and values, which are in the cache already
//                    attend          attention to the block's keys of each head, sent to the cluster
//   merge_heads      attention of the cluster's heads, from the parts of its blocks
//
// Key j belongs to the block whose rank is j modulo the number of ranks. So a block reads the keys that it wrote, beside the prompt's.
#ifndef GPT2_PERSISTENT_ATTENTION_CUH
#define GPT2_PERSISTENT_ATTENTION_CUH

#include "gpt2/model/persistent_block.cuh"
#include "gpt2/model/vec16.cuh"

#include <cmath>

// The lanes that have a key, a group. Each has 16 bytes of it, or of each 64 bytes where tensor cores compute the scores.
template <class T> __host__ __device__ constexpr int lanes_of_key(int D) {
    return sizeof(T) == 2 && D == 64 ? (int)quad : D / vec16<T>::size;
}

enum { ahead = 2 };

// All heads of the cluster: one after the other, or two at a time, each by a team of half of the warps. A thread requests keys and values
// two rounds before it uses them. Each comes into the registers of one that has been used: to be moved from register to register it would
// have to be there. fixed_D: D, or 0 for any but 64
template <class T, int fixed_D, class Weight> struct attention_part {
    static constexpr int size = vec16<T>::size;
    static constexpr int held = fixed_D > 0 ? fixed_D / size / lanes_of_key<T>(fixed_D) : 1;
    using part_of_key = vec16<T>[held]; // or of a value
    using some_keys = part_of_key[ahead];

    const persistent_block<T, Weight> &block;
    const half_layer &now;
    const int position, D, lanes, rank;   // lanes: of a group
    const int heads, teams, team, thread; // thread: in its team
    const int first, step;                // the thread's first key, and how far it is to the next
    const int at, next;                   // its first channel, and how far it is to those of its next 16 bytes
    const int count, newest;              // of the block's keys, with the newest one; its number among them

    __device__ attention_part(const persistent_block<T, Weight> &block, const half_layer &now, int position)
        : block(block), now(now), position(position), D(fixed_D > 0 ? fixed_D : block.task.D),
          lanes(lanes_of_key<T>(D)), rank(block_rank()), heads(block.share().heads.count), teams(heads > 1 ? 2 : 1),
          team(teams == 2 ? (int)threadIdx.x / (threads / 2) : 0), thread((int)threadIdx.x - team * (threads / 2)),
          first(thread / warp_size * (warp_size / lanes) + thread % warp_size / lanes),
          step(warps / teams * (warp_size / lanes)), at(thread % lanes * size), next(lanes * size),
          count((position + ranks - rank) / ranks), newest(position % ranks == rank ? position / ranks : count) {}

    // Of a head of the cluster in the cache, at the thread's channels: the block's first key.
    __device__ int64_t place(int h) const {
        const persistent_task<T, Weight> &task = block.task;
        return now.layer * task.cache_stride + ((int64_t)(block.share().heads.first + h) * task.S + rank) * D + at;
    }

    // The block's key i, or its value, if it exists and is in the cache. of_head: place(h)
    __device__ void request(part_of_key &to, const T *cache, int64_t of_head, int h, int i) const {
        if (h >= heads || i >= count || i == newest) { return; }
#pragma unroll
        for (int n = 0; n < held; n++) {
            to[n] = {__ldcg((const uint4 *)(cache + of_head + (int64_t)i * (ranks * D) + n * next))};
        }
    }

    __device__ void request_first(some_keys &to, const T *cache, int h) const {
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            for (vec16<T> &part : to[i]) { part = {}; }
            request(to[i], cache, place(h), h, first + i * step);
        }
    }

    // Query, key or value of the newest position. row: it has the cluster's heads
    __device__ vec16<T> input(int row, int h, int n) const {
        const T *inputs = (const T *)(block.dynamic + block.task.plan.heads);
        return vec16_load(inputs + (row * heads + min(h, heads - 1)) * D + at + n * next);
    }

    // keys: the first of head `team`
    __device__ void attend(some_keys &keys) const {
        const persistent_task<T, Weight> &task = block.task;
        const float log2_scale = task.scale * 1.4426950408889634f; // scores are logarithms to the base 2
        const int width = D + 2;
        float *outs = (float *)(block.dynamic + task.plan.outs) + team * step * width;
        for (int h = team; h < heads + team; h += teams) { // all threads as often
            const int mine = h < heads ? count : 0;
            const int64_t of_head = place(h);
            some_keys values;
            request_first(values, task.v, h);
            if (h == team) {
                block.heads().wait(now.layers_before, threadIdx.x == 0, block.flags());
            } else {
                request_first(keys, task.k, h);
            }
            if (newest < mine && (newest & (step - 1)) == first) { // step is a power of two
                const int64_t to = of_head + (int64_t)newest * (ranks * D);
                for (int n = 0; n < held; n++) {
                    *(uint4 *)(task.k + to + n * next) = input(1, h, n).bits;
                    *(uint4 *)(task.v + to + n * next) = input(2, h, n).bits;
                }
            }
            const query_of_lane query(*this, h);
            float o[held * size] = {}, m = -INFINITY, l = 0.0f; // of the group
#pragma unroll 1
            for (int base = first; base < mine + first; base += ahead * step) { // all threads of a team as often
#pragma unroll
                for (int a = 0; a < ahead; a++) {
                    const int i = base + a * step;
                    if (i >= mine + first) { break; }
                    if (i == newest) {
                        for (int n = 0; n < held; n++) { keys[a][n] = input(1, h, n), values[a][n] = input(2, h, n); }
                    }
                    const float s = query.times(keys[a], lanes) * log2_scale;
                    request(keys[a], task.k, of_head, h, i + ahead * step);
                    if (i < mine) {
                        const float highest = fmaxf(m, s), smaller = exp2f(m - highest), weight = exp2f(s - highest);
                        m = highest, l = l * smaller + weight;
#pragma unroll
                        for (int n = 0; n < held; n++) {
                            float value[size];
                            unpack(value, values[a][n]);
                            for (int e = 0; e < size; e++) {
                                o[n * size + e] = o[n * size + e] * smaller + weight * value[e];
                            }
                        }
                    }
                    request(values[a], task.v, of_head, h, i + ahead * step);
                }
            }

            if (h > team) { meet_block(); } // outs are free
            float *of_group = outs + first * width;
#pragma unroll
            for (int n = 0; n < held; n++) {
#pragma unroll
                for (int e = 0; e < size; e++) { of_group[at + n * next + e] = o[n * size + e]; }
            }
            if (at == 0) { of_group[D] = m, of_group[D + 1] = l; }
            meet_block();
            if (h < heads) { send_groups(outs, h, min(mine, step)); }
        }
    }

    // Of a head, at the lane's channels: floats; or a factor of the tensor cores' instruction, which multiplies eight keys by it. Of 16 bytes of
    // a key it has the first and third pair in rows 0 to 7, and the others in rows 8 to 15. So the factor's even columns have the query's
    // first and third pair, and the odd ones the others. Every lane of a group gets both parts of its key's score.
    struct query_of_lane {
        static constexpr bool on_tensor_cores = held > 1;
        float values[on_tensor_cores ? 1 : size];
        uint32_t pairs[held][2];

        __device__ query_of_lane(const attention_part &part, int h) {
            if constexpr (on_tensor_cores) {
                const bool odd = (int)threadIdx.x / quad % 2 == 1;
#pragma unroll
                for (int n = 0; n < held; n++) {
                    const uint4 bits = part.input(0, h, n).bits;
                    pairs[n][0] = odd ? bits.y : bits.x, pairs[n][1] = odd ? bits.w : bits.z;
                }
            } else {
                unpack(values, part.input(0, h, 0));
            }
        }

        // The product with the group's key. All lanes of a warp call.
        __device__ float times(const vec16<T> (&key)[held], int lanes) const {
            if constexpr (on_tensor_cores) {
                (void)lanes;
                float sums[4] = {};
#pragma unroll
                for (int n = 0; n < held; n++) {
                    const uint4 &k = key[n].bits;
                    multiply_add<T>(sums, {k.x, k.y, k.z, k.w}, pairs[n][0], pairs[n][1]);
                }
                return sums[0] + sums[3];
            } else {
                float of_key[size], sum = 0.0f;
                unpack(of_key, key[0]);
                for (int e = 0; e < size; e++) { sum += values[e] * of_key[e]; }
                for (int offset = lanes / 2; offset > 0; offset /= 2) {
                    sum += __shfl_xor_sync(all_lanes, sum, offset);
                }
                return sum;
            }
        }
    };

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
