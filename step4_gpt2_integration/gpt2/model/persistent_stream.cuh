// persistent_stream.cuh — the residual stream in decode_persistent.cu, and the choice of the next token
//
//   take_stream     adds to the residual stream what all clusters have computed for it, and sends it to the cluster, for a LayerNorm
//   norm_of_stream  the mean and the deviation of that LayerNorm
//   receive_token   the choice of the next token
//
// A block of each cluster keeps the same columns of the stream, and adds the same parts to them. So the clusters exchange parts of sums, once.
#ifndef GPT2_PERSISTENT_STREAM_CUH
#define GPT2_PERSISTENT_STREAM_CUH

#include "gpt2/model/persistent_block.cuh"

// The stream of this step begins with the embedding of a token; or parts of the sums that are added to it come in packets.
template <class T> struct stream_input {
    const packet *from; // (parts, C), or null: the embedding
    int parts;
    unsigned tag;
    const T *bias;       // (C)
    int token, position; // of the embedding
};

// x of the warps, at buffer `to`: halves of (residual stream - pivot) gain. A quad of lanes has two columns. Each lane reads the parts of
// some clusters, and sends the result to some blocks.
template <class T, int W>
__device__ inline bool take_stream(const persistent_block<T> &block, const stream_input<T> &input, const T *gain,
                                   float pivot, int to) {
    constexpr int together = W > 2 * quads ? 2 : 1, parts_each = most_clusters / quad;
    const persistent_task<T> &task = block.task;
    const shared_plan &plan = task.plan;
    const int C = task.C, lane = (int)threadIdx.x % quad, warp = (int)threadIdx.x / warp_size;
    const span pairs = {block.columns.first / 2, block.columns.count / 2};
    float2 *own = (float2 *)(block.dynamic + plan.own);
    float2 moments = {};
    bool good = true;
    for (int base = (int)threadIdx.x / quad; base < pairs.count + (int)threadIdx.x / quad; base += together * quads) {
        two_elements<T> gains[together] = {}, biases[together] = {}; // before the wait
        uint32_t data[together * parts_each][2] = {};
        unsigned missing = 0;
        float2 value[together] = {};
#pragma unroll
        for (int i = 0; i < together; i++) {
            const int pair = base + i * (int)quads;
            if (pair >= pairs.count) { continue; }
            const int c = 2 * (pairs.first + pair);
            gains[i] = load_two(gain + c);
            if (input.from == nullptr) {
                const float2 a = to_floats(load_two(task.token_embedding + (int64_t)input.token * C + c));
                const float2 b = to_floats(load_two(task.position_embedding + (int64_t)input.position * C + c));
                value[i] = make_float2(a.x + b.x, a.y + b.y);
                continue;
            }
            biases[i] = load_two(input.bias + c);
            value[i] = own[pair];
#pragma unroll
            for (int j = 0; j < parts_each; j++) {
                missing |= (unsigned)(lane + j * quad < input.parts) << (i * parts_each + j);
            }
        }
        const packet *from = input.from + (int64_t)lane * C + 2 * (pairs.first + base);
        good &= receive(
            data, missing, [&](int n) { return from + n % parts_each * quad * C + n / parts_each * 2 * (int)quads; },
            input.tag, task.packets.failed);
#pragma unroll
        for (int i = 0; i < together; i++) {
            float2 sum = {};
#pragma unroll
            for (int j = 0; j < parts_each; j++) {
                sum.x += __uint_as_float(data[i * parts_each + j][0]);
                sum.y += __uint_as_float(data[i * parts_each + j][1]);
            }
            const float2 bias = to_floats(biases[i]), scale = to_floats(gains[i]);
            value[i].x += over_quad(sum.x) + bias.x, value[i].y += over_quad(sum.y) + bias.y;
            __syncwarp(); // all have read `own`
            const int pair = base + i * (int)quads, c = 2 * (pairs.first + pair);
            if (pair >= pairs.count) { continue; }
            if (lane == 0) { own[pair] = value[i]; }
            const float2 off = make_float2(value[i].x - pivot, value[i].y - pivot);
            moments.x += off.x + off.y, moments.y += off.x * off.x + off.y * off.y;
            const int slice = c / W;
            block.send_halves(plan.x[to] + ((size_t)slice * halves<T> * plan.x_pitch + c % W) * sizeof(T), plan.x_pitch,
                              {off.x * scale.x * shrink<T>, off.y * scale.y * shrink<T>}, to * warps + slice);
        }
    }
    for (int offset = quad; offset < warp_size; offset *= 2) {
        moments.x += __shfl_xor_sync(all_lanes, moments.x, offset);
        moments.y += __shfl_xor_sync(all_lanes, moments.y, offset);
    }
    if (threadIdx.x % warp_size < ranks) {
        block.peer.send(plan.statistics[to] + (block_rank() * warps + warp) * sizeof(float2), moments.x, moments.y,
                        plan.arrivals + (statistics_barrier + to) * sizeof(uint64_t));
    }
    return good;
}

// norms[warp] = the warp's part of the sums, in two steps: this one before the warps meet. All lanes of a warp call.
template <class T> __device__ inline void sum_statistics(const persistent_block<T> &block, int buffer, float2 *norms) {
    const float2 *all = (const float2 *)(block.dynamic + block.task.plan.statistics[buffer]);
    const int warp = (int)threadIdx.x / warp_size, lane = (int)threadIdx.x % octet;
    const float2 mine = lane < ranks ? all[warp * ranks + lane] : make_float2(0.0f, 0.0f);
    const float2 sum = make_float2(over_octet(mine.x), over_octet(mine.y));
    if (threadIdx.x % warp_size == 0) { norms[warp] = sum; }
}

// x: the mean less the pivot; y: 1 / sqrt(variance + epsilon)
template <class T> __device__ inline float2 norm_of_stream(const float2 *norms, const persistent_task<T> &task) {
    const float2 mine = norms[threadIdx.x % warps];
    const float off = over_octet(mine.x) * task.per_channel, squares = over_octet(mine.y) * task.per_channel;
    return make_float2(off, rsqrtf(fmaxf(squares - off * off, 0.0f) + task.epsilon));
}

// ---- the next token ----

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
