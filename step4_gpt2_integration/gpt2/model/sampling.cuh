// sampling.cuh — draws a token on the device, as gpt2_sampling says (model.h)
//
// Purpose   Chosen on the host, each token would wait for a copy of 200 KB of logits and for the exponentials of one processor.
// Math      w_v = exp((l_v - max l) / temperature), so the likeliest token has 1. The limits put the tokens in order: larger
//           weights first, of equal ones the smaller id. Each limit, and then the draw, is a search: where does the running
//           number of tokens, or the running sum of weights, reach a value?
//               top-k   K tokens
//               top-p   p times the sum of those
//               draw    random times the sum of what is left
//           Sums are of integers, which have the same result in every order. So a draw is the same from run to run.
// Bytes     The weights from L2, 4 V bytes each time that they are read: once for a draw among all; with limits a second time
//           to find those that matter, and no more than these two times if there are at most `most_listed` of them.
// Kernel    One block. A token's key has its weight and its id, so that the order of keys is that of the tokens. A search fixes
//           8 bits of the key at a time: a histogram of the tokens whose upper bits are fixed, and the digit in which the value
//           is reached. It begins with the first bit in which keys that matter differ, so that threads seldom add to the same
//           sum. As soon as few enough tokens are left, it reads them from a list in shared memory.
#ifndef GPT2_SAMPLING_CUH
#define GPT2_SAMPLING_CUH

#include "common/warp.cuh"
#include "gpt2/model/model.h"

#include <cmath>
#include <cstdint>

// ---- logits to weights ----

// A token that is in the sequence already is less likely. seen: (V), null without a penalty
__device__ inline float penalised(float logit, int id, const uint8_t *seen, double penalty) {
    if (seen == nullptr || seen[id] == 0) { return logit; }
    return logit < 0.0f ? logit * (float)penalty : logit / (float)penalty;
}

// best: the largest logit
__device__ inline float weight_of_logit(float logit, float best, double temperature) {
    return logit == best ? 1.0f : (float)exp(((double)logit - (double)best) / temperature);
}

// ---- keys ----

// Weights are in 0..1, so their bits are in order, and the upper two are zeros. Ids are less than 2^24 (gpt2_config_check).
constexpr int id_bits = 24, digit_bits = 8, digits = 1 << digit_bits;

__device__ inline uint64_t key_of(float weight, int id) {
    return (uint64_t)__float_as_uint(weight) << id_bits | (uint64_t)((1 << id_bits) - 1 - id);
}
__device__ inline float weight_of_key(uint64_t key) {
    return __uint_as_float((unsigned)(key >> id_bits));
}
__device__ inline int id_of_key(uint64_t key) {
    return (1 << id_bits) - 1 - (int)(key & ((1 << id_bits) - 1));
}

// ---- the draw ----

constexpr int most_listed = 1024;

// In shared memory.
struct draw_scratch {
    uint2 sums[digits]; // of the weights with this digit: the lower half, the upper half
    unsigned counts[digits];
    unsigned long long of_warps[warp_size];
    uint64_t list[most_listed]; // of keys
    unsigned listed;
    double random;
    struct {
        int digit;
        unsigned count, count_before;       // of tokens with it, and above it
        unsigned long long sum, sum_before; // likewise of their weights
    } found;
};

// *sum += value, in shared memory. Shared memory adds 32 bits in one instruction. An addition of 64 bits is a loop of
// compare-and-swap there, in which threads with the same sum succeed one after the other.
__device__ inline void add_to_sum(uint2 *sum, uint64_t value) {
    const unsigned lower = (unsigned)value, carry = atomicAdd(&sum->x, lower) > ~lower;
    atomicAdd(&sum->y, (unsigned)(value >> 32) + carry);
}

__device__ inline uint64_t value_of(uint2 sum) {
    return (uint64_t)sum.y << 32 | sum.x;
}

// Each thread of the block has one. meet(): a barrier of these threads
template <int threads, class Meet> struct block_draw {
    static constexpr int warps = threads / warp_size;
    static_assert(threads >= digits && warps <= warp_size, "a thread for each digit");

    const float *weights; // (V)
    int V;
    float unit; // 2^k with V 2^k < 2^64: weights are summed as multiples of 1 / unit
    draw_scratch &shared;
    Meet meet;
    uint64_t least = 0; // tokens with smaller keys are left out
    int listed = -1;    // the number of tokens in the list; -1: they are not in it

    __device__ block_draw(const float *weights, int V, float unit, draw_scratch &shared, Meet meet)
        : weights(weights), V(V), unit(unit), shared(shared), meet(meet) {}

    __device__ uint64_t units(float weight) const { return (uint64_t)(weight * unit); }

    // Past the L1 cache: other blocks may have written them.
    __device__ float weight_at(int id) const { return __ldcg(weights + id); }

    template <class Visit> __device__ void each_key(Visit visit) const {
        if (listed >= 0) {
            for (int i = (int)threadIdx.x; i < listed; i += threads) { visit(shared.list[i]); }
            return;
        }
        constexpr int together = 16; // loads in flight
        for (int first = (int)threadIdx.x; first < V; first += together * threads) {
            float weight[together];
#pragma unroll
            for (int i = 0; i < together; i++) {
                weight[i] = first + i * threads < V ? weight_at(first + i * threads) : 0.0f;
            }
#pragma unroll
            for (int i = 0; i < together; i++) {
                const int id = first + i * threads;
                const uint64_t key = key_of(weight[i], id);
                if (id < V && key >= least) { visit(key); }
            }
        }
    }

    __device__ static uint64_t sum_of_warp(uint64_t mine) {
        for (int mask = warp_size / 2; mask > 0; mask /= 2) { mine += __shfl_xor_sync(all_lanes, mine, mask); }
        return mine;
    }

    // The sum over the block, for all threads.
    __device__ uint64_t sum(uint64_t mine) {
        mine = sum_of_warp(mine);
        if (threadIdx.x % warp_size == 0) { shared.of_warps[threadIdx.x / warp_size] = mine; }
        meet();
        uint64_t total = 0;
        for (int i = 0; i < warps; i++) { total += shared.of_warps[i]; }
        meet();
        return total;
    }

    // The sum of the weights from `least_weight` up of keys from `from` up.
    __device__ uint64_t sum_from(uint64_t from, double least_weight) {
        uint64_t mine = 0;
        each_key([&](uint64_t key) {
            const float weight = weight_of_key(key);
            if (key >= from && (double)weight >= least_weight) { mine += units(weight); }
        });
        return sum(mine);
    }

    // The keys that fulfil a condition, to the list.
    template <class Condition> __device__ void collect(Condition condition) {
        if (threadIdx.x == 0) { shared.listed = 0; }
        meet();
        each_key([&](uint64_t key) {
            if (condition(key)) { shared.list[atomicAdd(&shared.listed, 1u)] = key; }
        });
        meet();
        listed = (int)shared.listed;
    }

    // Of a value of each digit: the running sum from the upper digits down, for the thread with digit digits - 1 - threadIdx.x.
    __device__ uint64_t running_sum(uint64_t value) {
        const int lane = (int)threadIdx.x % warp_size;
        for (int step = 1; step < warp_size; step *= 2) {
            const uint64_t other = __shfl_up_sync(all_lanes, value, step);
            value += lane >= step ? other : 0;
        }
        if (lane == warp_size - 1) { shared.of_warps[threadIdx.x / warp_size] = value; }
        meet();
        for (int i = 0; i < (int)threadIdx.x / warp_size; i++) { value += shared.of_warps[i]; }
        meet();
        return value;
    }

    // The digit in which the running number, or sum of weights, reaches `need`, to shared.found.
    __device__ void find_digit(uint64_t need, bool by_weight) {
        const int digit = digits - 1 - (int)threadIdx.x;
        const unsigned count = digit >= 0 ? shared.counts[digit] : 0;
        const uint64_t sum = digit >= 0 ? value_of(shared.sums[digit]) : 0;
        const uint64_t counts = running_sum(count), sums = running_sum(sum);
        const uint64_t value = by_weight ? sum : count, through = by_weight ? sums : counts;
        if (through - value < need && need <= through) {
            shared.found = {digit, count, (unsigned)counts - count, sum, sums - sum};
        }
        meet();
    }

    // Where a running number or sum reaches a value: the key, and the sum of the weights through it.
    struct place {
        uint64_t key, sum;
    };

    // From the upper keys down. need: from 1 to the value of all keys from `least` up. If those through the place are few, they
    // alone are in the list afterwards.
    __device__ place search(uint64_t need, bool by_weight) {
        const uint64_t from = least, range = key_of(1.0f, 0) - from;
        const int listed_before = listed;
        bool keeps_list = false;
        uint64_t fixed = 0, sum = 0;
        unsigned above = 0; // tokens above the digits that are fixed
        for (int upper = 64 - __clzll((long long)range), shift; upper > 0; upper = shift) {
            shift = max(upper - digit_bits, 0);
            const unsigned mask = (1u << (upper - shift)) - 1;
            for (int i = (int)threadIdx.x; i < digits; i += threads) { shared.counts[i] = 0, shared.sums[i] = {}; }
            meet();
            each_key([&](uint64_t key) {
                const uint64_t rest = key - from;
                if (rest >> upper != fixed) { return; }
                const unsigned digit = (unsigned)(rest >> shift) & mask;
                atomicAdd(&shared.counts[digit], 1u);
                add_to_sum(&shared.sums[digit], units(weight_of_key(key)));
            });
            meet();
            find_digit(need, by_weight);
            const auto found = shared.found;
            need -= by_weight ? found.sum_before : found.count_before;
            sum += found.sum_before, above += found.count_before;
            fixed = fixed << (upper - shift) | (uint64_t)found.digit;
            if (shift == 0) { sum += found.sum; }
            if (listed >= 0) { continue; }
            if (above + found.count <= most_listed) {
                keeps_list = true;
                collect([&](uint64_t key) { return (key - from) >> shift >= fixed; });
            } else if (found.count <= most_listed) {
                collect([&](uint64_t key) { return (key - from) >> shift == fixed; });
            }
        }
        if (!keeps_list) { listed = listed_before; }
        return {from + fixed, sum};
    }

    // The running sum at which top-p ends: of `all`, from 1 to it.
    __device__ static uint64_t end_of_top_p(double top_p, uint64_t all) {
        return max((uint64_t)1, min((uint64_t)ceil(top_p * (double)all), all));
    }

    // Leaves out the tokens that no limit needs: of a few bounds the largest with enough tokens above it. Returns the sum of
    // all weights.
    __device__ uint64_t narrow(int top_k, double top_p) {
        constexpr int bounds = 8;
        const auto bits_of_bound = [](int i) { return (127u - 2u * (unsigned)(i + 1)) << 23; }; // of 2^(-2 (i + 1))
        unsigned counts[bounds] = {};
        uint64_t sums[bounds] = {}, all = 0;
        for (int i = (int)threadIdx.x; i < bounds; i += threads) { shared.counts[i] = 0, shared.sums[i] = {}; }
        meet();
        each_key([&](uint64_t key) {
            const uint64_t weight = units(weight_of_key(key));
            all += weight;
#pragma unroll
            for (int i = 0; i < bounds; i++) {
                const bool above = (unsigned)(key >> id_bits) >= bits_of_bound(i);
                counts[i] += above, sums[i] += above ? weight : 0;
            }
        });
#pragma unroll
        for (int i = 0; i < bounds; i++) {
            const unsigned count = (unsigned)sum_of_warp(counts[i]);
            const uint64_t weight = sum_of_warp(sums[i]);
            if (threadIdx.x % warp_size != 0) { continue; }
            atomicAdd(&shared.counts[i], count);
            add_to_sum(&shared.sums[i], weight);
        }
        all = sum(all);
        int count = V;
        for (int i = bounds - 1; i >= 0; i--) {
            const bool enough =
                top_k < V ? shared.counts[i] >= (unsigned)top_k : value_of(shared.sums[i]) >= end_of_top_p(top_p, all);
            if (enough) { least = (uint64_t)bits_of_bound(i) << id_bits, count = (int)shared.counts[i]; }
        }
        meet();
        if (count <= most_listed) {
            collect([](uint64_t) { return true; });
        }
        return all;
    }

    // The id at which the sum of the weights from least_weight up, in the order of ids, exceeds `random` times that of all.
    __device__ int draw_by_id(double random, double least_weight) {
        const int warp = (int)threadIdx.x / warp_size, lane = (int)threadIdx.x % warp_size;
        uint64_t need = 0;
        int first = 0, count = V;
        while (count > 1 || need == 0) {
            const int part = (count + warps - 1) / warps, begin = first + warp * part;
            const int end = min(begin + part, first + count);
            uint64_t mine = 0;
            for (int id = begin + lane; id < end; id += warp_size) {
                const float weight = weight_at(id);
                mine += (double)weight >= least_weight ? units(weight) : 0;
            }
            mine = sum_of_warp(mine);
            if (lane == 0) { shared.of_warps[warp] = mine; }
            meet();
            if (need == 0) {
                uint64_t all = 0;
                for (int i = 0; i < warps; i++) { all += shared.of_warps[i]; }
                need = place_of(random, all);
            }
            int chosen = 0;
            while (need > shared.of_warps[chosen]) { need -= shared.of_warps[chosen++]; }
            meet();
            count = min(part, count - chosen * part), first += chosen * part;
        }
        return first;
    }

    // The running sum of weights that a draw must reach, from 1 to `all`.
    __device__ static uint64_t place_of(double random, uint64_t all) {
        return min((uint64_t)(random * (double)all), all - 1) + 1;
    }

    // *state: that of the sequence's random numbers. All threads of the block get the id.
    __device__ int draw(const gpt2_sampling &by, uint64_t *state) {
        if (threadIdx.x == 0) { shared.random = gpt2_uniform(gpt2_random_next(state)); }
        meet();
        const double random = shared.random;
        const int top_k = by.top_k > 0 ? min(by.top_k, V) : V;
        if (top_k == V && by.top_p >= 1.0) { return draw_by_id(random, by.min_p); }
        place last = {0, narrow(top_k, by.top_p)};
        enum { to_top_k, to_top_p, to_draw, searches };
        for (int to = 0; to < searches; to++) { // in a loop, so that the kernel has the code of a search once
            if ((to == to_top_k && top_k == V) || (to == to_top_p && by.top_p >= 1.0)) { continue; }
            if (to == to_draw && by.min_p > 0.0) { last.sum = sum_from(last.key, by.min_p); }
            const uint64_t need = to == to_top_k   ? (uint64_t)top_k
                                  : to == to_top_p ? end_of_top_p(by.top_p, last.sum)
                                                   : place_of(random, last.sum);
            last = search(need, to != to_top_k);
        }
        return id_of_key(last.key);
    }
};

#endif
