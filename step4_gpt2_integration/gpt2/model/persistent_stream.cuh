// persistent_stream.cuh — the residual stream in decode_persistent.cu
//
//   begin_stream    the embedding of a token
//   take_stream     adds to the residual stream what all clusters have computed for it, and sends it to the cluster, for a LayerNorm
//   norm_of_stream  the mean and the deviation of that LayerNorm
//
// A block of each cluster keeps the same columns of the stream, and adds the same parts to them. So the clusters exchange parts of sums, once.
#ifndef GPT2_PERSISTENT_STREAM_CUH
#define GPT2_PERSISTENT_STREAM_CUH

#include "gpt2/model/persistent_block.cuh"

// Parts of the sums that are added to the stream come in packets.
template <class T> struct stream_input {
    const packet *from; // (parts, C)
    int parts;          // 0: nothing is added
    unsigned tag;
    const T *bias; // (C)
};

// The columns are in pairs. A quad of lanes has the same ones in begin_stream and in take_stream.
template <class T, class Weight>
__device__ inline void begin_stream(const persistent_block<T, Weight> &block, int token, int position) {
    const persistent_task<T, Weight> &task = block.task;
    float2 *own = (float2 *)(block.dynamic + task.plan.own);
    for (int pair = (int)threadIdx.x / quad; pair < block.state().columns.count / 2; pair += quads) {
        const int c = block.state().columns.first + 2 * pair;
        float2 a;
        if constexpr (coded<Weight>) {
            a = make_float2(task.token_embedding.at(token, c), task.token_embedding.at(token, c + 1));
        } else {
            a = to_floats(load_two(task.token_embedding.plain + (int64_t)token * task.C + c));
        }
        const float2 b = to_floats(load_two(task.position_embedding + (int64_t)position * task.C + c));
        if (threadIdx.x % quad == 0) { own[pair] = make_float2(a.x + b.x, a.y + b.y); }
    }
    __syncwarp();
}

// x of the warps, at buffer `to`: (residual stream - pivot) gain. A quad of lanes has two columns. Each lane reads the parts of some
// clusters, and sends the result to some blocks. per_unit: of x in digits
template <class T, int W, class Weight>
__device__ inline void take_stream(const persistent_block<T, Weight> &block, const stream_input<T> &input,
                                   const T *gain, float pivot, float per_unit, int to) {
    constexpr int together = W > 2 * quads ? 2 : 1, parts_each = most_clusters / quad;
    constexpr int rounds = (warps * W / 2 / ranks + together * (int)quads - 1) / (together * (int)quads);
    const persistent_task<T, Weight> &task = block.task;
    const shared_plan &plan = task.plan;
    const int C = task.C, lane = (int)threadIdx.x % quad, warp = (int)threadIdx.x / warp_size;
    const span pairs = {block.state().columns.first / 2, block.state().columns.count / 2};
    float2 *own = (float2 *)(block.dynamic + plan.own);
    float2 moments = {};
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        const auto pair_of = [&](int i) { return (int)threadIdx.x / quad + (round * together + i) * (int)quads; };
        const auto column_of = [&](int i) { return 2 * (pairs.first + min(pair_of(i), pairs.count - 1)); };
        two_elements<T> gains[together], biases[together] = {}; // before the wait
        uint32_t data[together * parts_each][2] = {};
        float2 value[together] = {};
#pragma unroll
        for (int i = 0; i < together; i++) { gains[i] = load_two(gain + column_of(i)); }
#pragma unroll
        for (int i = 0; i < together; i++) {
            if (pair_of(i) < pairs.count) { value[i] = own[pair_of(i)]; }
        }
        if (input.parts > 0) {
#pragma unroll
            for (int i = 0; i < together; i++) { biases[i] = load_two(input.bias + column_of(i)); }
            receive(
                data,
                [&](int n) {
                    const int part = min(lane + n % parts_each * (int)quad, input.parts - 1);
                    return input.from + part * C + column_of(n / parts_each);
                },
                input.tag, block.flags());
        }
#pragma unroll
        for (int i = 0; i < together; i++) {
            float2 sum = {};
#pragma unroll
            for (int j = 0; j < parts_each; j++) {
                if (lane + j * (int)quad >= input.parts) { continue; }
                sum.x += __uint_as_float(data[i * parts_each + j][0]);
                sum.y += __uint_as_float(data[i * parts_each + j][1]);
            }
            const float2 bias = to_floats(biases[i]), scale = to_floats(gains[i]);
            value[i].x += over_quad(sum.x) + bias.x, value[i].y += over_quad(sum.y) + bias.y;
            __syncwarp(); // all have read `own`
            const int pair = pair_of(i), c = 2 * (pairs.first + pair);
            const float2 off = make_float2(value[i].x - pivot, value[i].y - pivot);
            uint2 words;
            if constexpr (coded<Weight>) { // two quads have four columns
                const float2 x = make_float2(off.x * scale.x, off.y * scale.y);
                if (input.parts > 0 && fmaxf(fabsf(x.x), fabsf(x.y)) * per_unit > units_of_bound) {
                    atomicExch(task.packets.imprecise, 1u);
                }
                words = digits_of_two(x.x, x.y, per_unit, quad);
            } else {
                words = words_of<T>(off.x * scale.x * shrink<T>, off.y * scale.y * shrink<T>);
            }
            if (pair >= pairs.count) { continue; }
            if (lane == 0) { own[pair] = value[i]; }
            moments.x += off.x + off.y, moments.y += off.x * off.x + off.y * off.y;
            block.send_words(plan.x[to] + (size_t)(c / 2) * bytes_of_two, words, to * warps + c / W);
        }
    }
    for (int offset = quad; offset < warp_size; offset *= 2) {
        moments.x += __shfl_xor_sync(all_lanes, moments.x, offset);
        moments.y += __shfl_xor_sync(all_lanes, moments.y, offset);
    }
    if (threadIdx.x % warp_size < ranks) {
        block.peer().send(plan.statistics[to] + (block_rank() * warps + warp) * sizeof(float2), moments.x, moments.y,
                          plan.arrivals + (statistics_barrier + to) * sizeof(uint64_t));
    }
}

// x: the mean less the pivot; y: 1 / sqrt(variance + epsilon). All lanes of a warp call.
template <class T, class Weight>
__device__ inline float2 norm_of_stream(const persistent_block<T, Weight> &block, int buffer) {
    const float2 *parts = (const float2 *)(block.dynamic + block.task.plan.statistics[buffer]);
    float2 sum = {};
#pragma unroll
    for (int first = 0; first < ranks * warps; first += warp_size) {
        const int i = first + (int)threadIdx.x % warp_size;
        if (i >= ranks * warps) { continue; }
        sum.x += parts[i].x, sum.y += parts[i].y;
    }
    const float off = warp_sum(sum.x) * block.task.per_channel, squares = warp_sum(sum.y) * block.task.per_channel;
    return make_float2(off, rsqrtf(fmaxf(squares - off * off, 0.0f) + block.task.epsilon));
}

#endif
