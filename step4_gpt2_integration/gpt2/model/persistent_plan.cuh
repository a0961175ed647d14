// persistent_plan.cuh — how decode_persistent.cu divides a model, and a block's shared memory: on the host
//
//   width_for     the columns of a warp
//   can_divide    are there rows for every block?
//   plan_for      where what lies in shared memory, and how many boxes of weights fit into the rest
#ifndef GPT2_PERSISTENT_PLAN_CUH
#define GPT2_PERSISTENT_PLAN_CUH

#include "gpt2/model/device.cuh"
#include "gpt2/model/persistent_attention.cuh"
#include "gpt2/model/sampling.cuh"

#include <algorithm>

// The narrowest W that fits, or 0.
template <class Weight> inline int width_for(int C) {
    for (int W : widths<Weight>) {
        if (C <= warps * W) { return W; }
    }
    return 0;
}

// Do all blocks have some hidden values? Then each layer needs results of all of them, and none can be a layer behind the others.
template <class T, class Weight> inline bool can_divide(const gpt2_config &config, int clusters) {
    for (int k = 0; k < clusters; k++) {
        const int least = ranks * row_unit<T, Weight>;
        if (share_of_cluster<Weight>(config.channels, config.heads, k, clusters).hidden.count < least) { return false; }
    }
    return true;
}

// The shared memory of the cluster that needs most.
template <class T, class Weight> inline shared_plan plan_for(const gpt2_config &config, int clusters) {
    constexpr size_t fixed = 2048; // the kernel's own variables
    constexpr int unit = column_unit<Weight>;
    const int C = config.channels, D = C / config.heads, step = box_columns<Weight>, W = width_for<Weight>(C);
    int heads = 0, most_hidden = 0;
    for (int k = 0; k < clusters; k++) {
        const cluster_share share = share_of_cluster<Weight>(C, config.heads, k, clusters);
        heads = std::max(heads, share.heads.count), most_hidden = std::max(most_hidden, share.hidden.count);
    }
    const auto whole_steps = [&](int columns) { return (size_t)(columns + step - 1) / step * step; };
    const int columns = (C / unit + ranks - 1) / ranks * unit; // of the residual stream
    shared_plan plan = {};
    plan.batch = most_boxes;
    const auto take = [&](size_t &place, size_t elements, size_t size) {
        place = plan.all, plan.all = (plan.all + elements * size + 15) / 16 * 16;
    };
    take(plan.state, 1, sizeof(block_state));
    take(plan.own, (size_t)columns / 2, sizeof(float2));
    take(plan.others, (size_t)columns, sizeof(total));
    for (int i = 0; i < 2; i++) {
        take(plan.x[i], (size_t)warps * W * halves<T>, sizeof(T));
        take(plan.statistics[i], ranks * warps, sizeof(float2));
    }
    take(plan.norms, 2, sizeof(float2));
    take(plan.heads, (size_t)3 * heads * D, sizeof(T));
    take(plan.parts_of_heads, (size_t)heads * ranks * (D + 2), sizeof(float));
    take(plan.merged, whole_steps(heads * D) * halves<T>, sizeof(T));
    take(plan.hidden, whole_steps(most_hidden) * halves<T>, sizeof(T));
    take(plan.sums, 2 * warps * sums_pitch, sizeof(float));
    take(plan.outs,
         takes_tiles<T>(D, W) ? tile_attention<T, Weight>::outs_floats(D)
                              : group_attention<T, 0, Weight>::outs_floats(D),
         sizeof(float));
    plan.all = std::max(plan.all, plan.sums + sizeof(draw_scratch)); // in their place, between two steps
    take(plan.parts, kinds, sizeof(matrix_part<Weight>));
    take(plan.units, coded<Weight> ? (size_t)config.layers + 1 : 0, sizeof(layer_units));
    take(plan.logits, (size_t)(config.vocabulary + clusters * ranks - 1) / (clusters * ranks), sizeof(float));
    take(plan.arrivals, arrival_barriers, sizeof(uint64_t));
    take(plan.ring_barriers, 2 * most_places, sizeof(uint64_t));
    plan.all = (plan.all + 127) / 128 * 128;
    plan.boxes = plan.all;
    if (in_ring) {
        plan.bytes_of_whole = bytes_of_whole_rows<Weight>(C), plan.bytes_of_columns = columns * column_bytes;
        plan.place_bytes = (std::max(plan.bytes_of_whole, plan.bytes_of_columns) + 127) / 128 * 128;
        // What follows the last place is read too: zeros, for columns beyond C.
        const int read = warps * W / step * box_rows<Weight> * column_bytes;
        const size_t margin = (size_t)std::max(0, read - plan.place_bytes);
        const size_t most = (size_t)most_shared_memory(), rest = plan.all + margin + fixed;
        const int fit = most > rest ? (int)((most - rest) / (size_t)plan.place_bytes) : 0;
        // Of small boxes two warps request fewer than memory sends. Measured: at 8 KB more are slower (docs/decode.md).
        plan.streamers = plan.place_bytes <= 6 * 1024 ? most_streamers : 2;
        plan.places = std::min(fit, (int)most_places) / plan.streamers * plan.streamers;
        plan.all += (size_t)plan.places * (size_t)plan.place_bytes + margin;
        plan.batch = std::min((int)most_boxes, plan.places);
    }
    return plan;
}

#endif
