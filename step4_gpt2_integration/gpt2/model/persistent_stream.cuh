// persistent_stream.cuh — the residual stream in decode_persistent.cu
//
//   stream_keeper   begin     the embedding of a token
//                   take      adds what all clusters have computed, and sends the result to the cluster, for a LayerNorm
//                   settle    the mean of that LayerNorm, which the next one takes off
//   norm_of_stream  that mean, and the deviation
//   keep_norms      the norm warp, which computes both while the others multiply
//   await_norm      both, for the others
//
// A block of each cluster keeps the same columns of the stream. The clusters add parts to two totals of a column: what
// attention has added to the stream, and what the MLP has. Their sum is the stream: where a step begins, the new embedding less
// the stream of the step before counts as a part of the MLP's.
#ifndef GPT2_PERSISTENT_STREAM_CUH
#define GPT2_PERSISTENT_STREAM_CUH

#include "gpt2/model/persistent_block.cuh"

// x: the mean less the pivot; y: 1 / sqrt(variance + epsilon). All lanes of a warp call.
template <class T, class Weight>
__device__ inline float2 norm_of_stream(const persistent_block<T, Weight> &block, int buffer) {
    const float2 *parts = (const float2 *)(block.dynamic + block.task.plan.statistics[buffer]);
    float2 sum = {};
#pragma unroll
    for (int i = (int)threadIdx.x % warp_size; i < ranks * warps; i += warp_size) {
        sum.x += parts[i].x, sum.y += parts[i].y;
    }
    const float off = warp_sum(sum.x) * block.task.per_channel, squares = warp_sum(sum.y) * block.task.per_channel;
    return make_float2(off, rsqrtf(fmaxf(squares - off * off, 0.0f) + block.task.epsilon));
}

// Another step follows, or none: the multiplying warps tell the norm warp, which calls with false.
__device__ inline bool another_step(bool follows) {
    return !in_ring || any_at_barrier<3, threads + warp_size>(follows);
}

// By the norm warp.
template <class T, class Weight> __device__ inline void keep_norms(const persistent_block<T, Weight> &block) {
    const bool first_lane = threadIdx.x % warp_size == 0;
    for (int step = 0; another_step(false); step++) {
#pragma unroll 1
        for (int half = 0; half <= 2 * block.task.L; half++) {
            const half_layer now = half_at(block.task, step, half);
            block.statistics(now.buffer()).wait(now.phase, first_lane, block.flags());
            __syncwarp();
            const float2 norm = norm_of_stream(block, now.buffer());
            if (first_lane) { block.norm(now.buffer()) = norm; }
            meet_norm_warp();
        }
    }
}

// The multiplying warps meet, and each thread gets norm_of_stream.
template <class T, class Weight>
__device__ inline float2 await_norm(const persistent_block<T, Weight> &block, const half_layer &now) {
    if (in_ring) {
        meet_norm_warp();
        return block.norm(now.buffer());
    }
    block.statistics(now.buffer()).wait(now.phase, threadIdx.x == 0, block.flags());
    meet_block();
    return norm_of_stream(block, now.buffer());
}

// ---- x in digits ----

// By all threads of the block, before they meet: units of all layers, from their bounds in memory.
template <class T, class Weight> __device__ inline void keep_units(const persistent_block<T, Weight> &block) {
    const int L = block.task.L;
    for (int layer = (int)threadIdx.x; layer <= L; layer += (int)blockDim.x) {
        const layer_bounds bounds = block.task.packets.bounds[layer];
        const auto of = [](float bound) { return units_of_bound / fmaxf(bound, least_bound); };
        block.units(layer) = {of(bounds.gain1), of(bounds.value), of(bounds.gain2), of(bounds.hidden)};
        if (layer == L) { block.over_embedding() = 1.0f / fmaxf(2.0f * (bounds.value + bounds.hidden), least_bound); }
    }
}

// 1 / the largest magnitude of the stream less the pivot that x can hold: most_growth deviations that the LayerNorm before
// found. `take` cuts off larger ones, and reports them. over_deviation: 1 / that deviation
template <class T, class Weight>
__device__ inline float over_largest(const persistent_block<T, Weight> &block, const half_layer &now,
                                     float over_deviation) {
    constexpr float most_growth = 1 << 14;
    return now.is_first() ? block.over_embedding() : over_deviation / most_growth;
}

// 1 / the unit of x.
template <class T, class Weight>
__device__ inline float units_of_stream(const persistent_block<T, Weight> &block, const half_layer &now,
                                        float over_deviation) {
    if constexpr (!coded<Weight>) { return 1.0f; }
    const layer_units &units = block.units(now.layer);
    return over_largest(block, now, over_deviation) * (now.kind == fc ? units.gain2 : units.gain1);
}

// ---- the stream ----

// A quad of lanes has some pairs of columns. Each lane sends the result to some blocks.
template <class T, class Weight, int W> struct stream_keeper {
    // The pairs of a quad, in rounds of those that fit into registers.
    static constexpr int most_pairs = (warps * W / 2 / ranks + quads - 1) / quads;
    static constexpr int rounds = (most_pairs + 1) / 2, together = (most_pairs + rounds - 1) / rounds;

    const persistent_block<T, Weight> &block;
    float pivot, over_deviation; // the mean of the LayerNorm before; 1 / its deviation

    __device__ explicit stream_keeper(const persistent_block<T, Weight> &block) : block(block) {}

    __device__ float2 *own() const { return (float2 *)(block.dynamic + block.task.plan.own); }
    __device__ total *others(int pair) const { return (total *)(block.dynamic + block.task.plan.others) + 2 * pair; }

    // steps: before this one
    __device__ void begin(int token, int position, int steps) {
        const persistent_task<T, Weight> &task = block.task;
        const T *of_position = task.position_embedding + (int64_t)position * task.C;
        for (int pair = (int)threadIdx.x / quad; pair < block.state().columns.count / 2; pair += quads) {
            const int c = block.state().columns.first + 2 * pair;
            float2 a;
            if constexpr (coded<Weight>) {
                a = make_float2(task.token_embedding.at(token, c), task.token_embedding.at(token, c + 1));
            } else {
                a = to_floats(load_two(task.token_embedding.plain + (int64_t)token * task.C + c));
            }
            const float2 b = to_floats(load_two(of_position + c));
            if ((int)threadIdx.x % quad == 0) {
                const float both[2] = {a.x + b.x, a.y + b.y};
                own()[pair] = make_float2(both[0], both[1]);
                total *const others = this->others(pair);
                for (int e = 0; e < 2; e++) {
                    const total attended = others[e]; // complete, as `expanded` is
                    others[e] = total_of(both[e]) - attended;
                    if (cluster_index() == 0) {
                        total *const expanded = task.packets.expanded + c + e;
                        const unsigned parts = gridDim.x / ranks * (unsigned)(steps * task.L) + (unsigned)steps;
                        add_to_total(expanded, others[e] - (load_total(expanded) - parts), 1);
                    }
                }
            }
        }
        pivot = task.token_embedding.at(token, 0) + to_float(of_position[0]), over_deviation = 0.0f;
        __syncwarp();
    }

    // To x of the warps: (stream - pivot) gain. per_unit: units_of_stream
    __device__ void take(const half_layer &now, float per_unit) const {
        const persistent_task<T, Weight> &task = block.task;
        const shared_plan &plan = task.plan;
        const int thread = (int)threadIdx.x + unknown_zero(), lane = thread % quad;
        const bool after_attention = now.kind == fc;
        const int64_t at = now.layer * task.weights_stride;
        const block_weights<T> &w = task.block;
        const total *from = after_attention ? task.packets.attended : task.packets.expanded;
        const T *gain = now.kind == qkv ? w.ln1_weight + at : after_attention ? w.ln2_weight + at : task.final_weight;
        const span pairs = {block.state().columns.first / 2, block.state().columns.count / 2};
        float2 moments = {};
#pragma unroll 1
        for (int round = 0; round < rounds; round++) {
            const auto pair_of = [&](int i) { return thread / quad + (round * together + i) * (int)quads; };
            const auto column_of = [&](int i) { return 2 * (pairs.first + min(pair_of(i), pairs.count - 1)); };
            const auto is_there = [&](int i) { return pair_of(i) < pairs.count; };
            // Before the wait all that does not depend on it.
            two_elements<T> gains[together];
            total totals[together][2] = {}, others[together][2] = {};
            int to[together], barrier[together];
#pragma unroll
            for (int i = 0; i < together; i++) {
                const int c = column_of(i);
                gains[i] = load_two(gain + c);
                if (is_there(i)) {
                    const total *const before = this->others(pair_of(i));
                    others[i][0] = before[0], others[i][1] = before[1];
                }
                to[i] = (int)plan.x[now.buffer()] + c / 2 * bytes_of_two, barrier[i] = now.buffer() * warps + c / W;
                compute_here(to[i]), compute_here(barrier[i]);
            }
            if (!now.is_first()) {
                await_totals(
                    totals, [&](int i) { return from + column_of(i); }, now.parts, block.flags());
            }
            __syncwarp(); // all have read the others
#pragma unroll
            for (int i = 0; i < together; i++) {
                float2 value =
                    make_float2(value_of(totals[i][0] + others[i][0]), value_of(totals[i][1] + others[i][1]));
                if (now.is_first() && is_there(i)) { value = own()[column_of(i) / 2 - pairs.first]; }
                const float2 scale = to_floats(gains[i]), off = make_float2(value.x - pivot, value.y - pivot);
                uint2 words;
                if constexpr (coded<Weight>) { // two quads have four columns
                    const float2 x = make_float2(off.x * scale.x, off.y * scale.y);
                    if (!now.is_first() && is_there(i) && fmaxf(fabsf(x.x), fabsf(x.y)) * per_unit > units_of_bound) {
                        atomicExch(task.packets.imprecise, 1u);
                    }
                    words = digits_of_two(x.x, x.y, per_unit, quad);
                } else {
                    words = words_of<T>(off.x * scale.x * shrink<T>, off.y * scale.y * shrink<T>);
                }
                if (!is_there(i)) { continue; }
                block.send_word((size_t)to[i], (uint64_t)words.y << 32 | words.x, barrier[i]);
                if (lane == 0 && !now.is_first() && now.kind != logits) {
                    total *const after = this->others(pair_of(i));
                    after[0] = totals[i][0], after[1] = totals[i][1];
                }
                moments.x += off.x + off.y, moments.y += off.x * off.x + off.y * off.y;
            }
        }
        for (int offset = quad; offset < warp_size; offset *= 2) {
            moments.x += __shfl_xor_sync(all_lanes, moments.x, offset);
            moments.y += __shfl_xor_sync(all_lanes, moments.y, offset);
        }
        if ((int)threadIdx.x % warp_size < ranks) {
            const int place = block_rank() * warps + (int)threadIdx.x / warp_size;
            block.peer().send(plan.statistics[now.buffer()] + place * sizeof(float2), moments.x, moments.y,
                              plan.arrivals + (statistics_barrier + now.buffer()) * sizeof(uint64_t));
        }
    }

    // norm: norm_of_stream
    __device__ void settle(const float2 &norm) {
        constexpr float most = most_total / 2.0f; // of the mean, and of what is far from it
        pivot += norm.x, over_deviation = norm.y;
        if (threadIdx.x == 0 &&
            !(fabsf(pivot) < most && norm.y * norm.y * block.task.per_channel * (most * most) > 1.0f)) {
            atomicExch(block.task.packets.imprecise, 1u);
        }
    }
};

#endif
