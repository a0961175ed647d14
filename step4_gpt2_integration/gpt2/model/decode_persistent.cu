// decode_persistent.cu — greedy decoding of one sequence: one cooperative kernel for many tokens (decode_persistent.cuh)
//
// Purpose   A step of decode_fused.cu has 62 launches, and memory is idle at the end of each. Here one kernel runs all steps. While
//           a block waits for the results of others, its next weights come from memory (weight_ring.cuh).
// Math      y = activation?(LayerNorm?(x) W^T + b) + residual?, and softmax(q K^T / sqrt(D)) V, as in decode_fused.cu.
//           LayerNorm is folded into the product that reads it. With gain g, shift s, mean m and r = 1 / sqrt(variance + epsilon),
//               sum_c W_c ((x_c - m) r g_c + s_c)  =  r (sum_c W_c g_c (x_c - p) - (m - p) sum_c W_c g_c) + sum_c W_c s_c
//           for any p. The last two sums are constants of a row, computed once. So the product does not wait for m and r. p is the
//           mean of the LayerNorm before, which is near m.
// Bytes     The weights and the cache: 247 MB for 124M in bf16.
// Kernel    decode_persistent_kernel<T, W>: clusters of 8 blocks, a block on each multiprocessor, of 8 warps that multiply and 4 that
//           stream the weights. Heads and hidden values belong to a cluster, whose blocks hand over results to each other through
//           shared memory (cluster.cuh). Clusters exchange parts of the sums that attention and MLP add to the residual stream, as
//           packets (packets.cuh). So a layer has two exchanges through L2:
//             exchange     add the parts of all clusters to the residual stream                  (persistent_stream.cuh)
//             qkv          LayerNorm, product: the cluster's heads                               (persistent_products.cuh)
//             attention    each block a part of the keys of a head                               (persistent_attention.cuh)
//             projection   product with the cluster's heads: a part of each sum
//             exchange
//             fc           LayerNorm, product, GELU: the cluster's hidden values
//             mlp          product with the cluster's hidden values: a part of each sum
//           and then the logits, and the choice of the next token: the best of each block's rows, then of all blocks.
//           New keys and values are written to the cache without a tag. The same block reads them.
//           What is received is overwritten one layer later, when the new values depend on all readers of the old ones.
//           Registers must suffice: beside this much shared memory the L1 cache is too small for what a compiler would move to memory.
// Measured  On an H100, 124M in bf16 at position 64: 160 us a step. A trace of one warp: docs/decode.md.
#include "gpt2/model/decode_persistent.cuh"

#include "gpt2/model/activation.cuh"
#include "gpt2/model/decode_split.cuh"
#include "gpt2/model/persistent_attention.cuh"
#include "gpt2/model/persistent_products.cuh"
#include "gpt2/model/persistent_stream.cuh"

#include <algorithm>
#include <cmath>

// ---- constants of rows ----

// to[r] = (sum of W g, sum of W s + bias) over row r of W (rows, C). A warp a row
template <class T>
__global__ void fold_norm_kernel(float2 *to, const T *weights, const T *gain, const T *shift, const T *bias, int rows,
                                 int C) {
    const int r = blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    if (r >= rows) { return; }
    float gains = 0.0f, shifts = 0.0f;
    for (int c = lane; c < C; c += warp_size) {
        const float w = to_float(weights[(int64_t)r * C + c]);
        gains += w * to_float(gain[c]), shifts += w * to_float(shift[c]);
    }
    gains = warp_sum(gains), shifts = warp_sum(shifts);
    if (lane == 0) { to[r] = make_float2(gains, shifts + (bias != nullptr ? to_float(bias[r]) : 0.0f)); }
}

// ---- the kernel ----

template <class T, int W>
__global__ void __launch_bounds__(block_threads, 1) decode_persistent_kernel(const persistent_task<T> task) {
    extern __shared__ __align__(128) char dynamic[];
    __shared__ candidate candidates[2][warps];
    __shared__ int finished; // no unit is needed any more
    const shared_plan &plan = task.plan;
    uint64_t *barriers = (uint64_t *)(dynamic + plan.ring_barriers);
    const ring_memory ring = {dynamic + plan.places,    barriers,
                              barriers + ring_barriers, (unit_record *)(dynamic + plan.records),
                              plan.ring_bytes,          plan.in_flight};
    matrix_part<T> *parts = (matrix_part<T> *)(dynamic + plan.parts);
    const int C = task.C, L = task.L, clusters = (int)gridDim.x / ranks, warp = (int)threadIdx.x / warp_size;
    persistent_block<T> block = {
        task, dynamic, share_of_cluster<T>(C, task.H, cluster_index(), clusters), part_of(C, 2, block_rank(), ranks),
        {},   {}};

    // What no other block sends must be zeros: columns that no row has are multiplied too.
    for (size_t i = threadIdx.x * sizeof(uint4); i < plan.all; i += blockDim.x * sizeof(uint4)) {
        *(uint4 *)(dynamic + i) = make_uint4(0, 0, 0, 0);
    }
    zeros_before_copies();
    __syncthreads();
    if (threadIdx.x < kinds) { parts[threadIdx.x] = part_of_block(task, block.share, (int)threadIdx.x); }
    __syncthreads();
    if (threadIdx.x == 0) {
        finished = 0;
        open_ring(ring, warps);
        open_inboxes<T, W>(block);
    }
    __syncthreads();
    open_to_peers(dynamic, task.packets.bases, task.tag);
    const auto memory_of = [&](int rank) {
        return memory_of_peer(dynamic, rank % ranks, task.packets.bases, task.tag, task.packets.failed);
    };
    block.peer = memory_of((int)threadIdx.x % octet);
    for (int i = 0; i < (ranks + quad - 1) / quad; i++) {
        block.of_quad[i] = memory_of((int)threadIdx.x % quad + i * quad);
    }
    const int choices = task.greedy.settings[0], stop = task.greedy.settings[1], count = task.greedy.count[0];
    int left = task.greedy.left[0], position = task.positions[0], step = 0;
    bool good = true, ended = false;
    if (left == 0) {
        if (blockIdx.x == 0) {
            for (int i = threadIdx.x; i < task.steps; i += blockDim.x) { task.greedy.chosen[count + i] = -1; }
            if (threadIdx.x == 0) { task.greedy.count[0] = count + task.steps; }
        }
        return; // all blocks do
    }
    if (warp >= warps) {
        stream_weights(ring, (int)threadIdx.x - threads, parts, L, min(task.steps, left), &finished, [&](int layer) {
            if (warp == warps) { prefetch_vectors(task, layer); }
        });
        meet_cluster();
        return;
    }
    unit_reader units(ring);
    const bool first_lane = threadIdx.x % octet == 0;
    // Clusters that have heads: all, or each of them one.
    const int cluster_with_heads = task.H < clusters ? block.share.heads.first : cluster_index();
    packet *const projected = task.packets.projected + (int64_t)cluster_with_heads * C;
    packet *const expanded = task.packets.expanded + (int64_t)cluster_index() * C;
    const T *const merged = (const T *)(dynamic + plan.merged), *const hidden = (const T *)(dynamic + plan.hidden);

    const int logit_end = min(parts[logits].first + parts[logits].rows, choices);
    candidate mine = no_candidate;
    for (int id = parts[logits].first + (int)threadIdx.x; id < logit_end; id += threads) {
        mine = better(mine, {task.logits[id], id});
    }
    int turn = 0; // of the sums' memory
    for (; step < task.steps && left > 0; step++) {
        unsigned tag = task.tag + (unsigned)step * (unsigned)L;
        candidate best = best_of_warps(mine, candidates[0], &good);
        if (threadIdx.x == 0) {
            publish(task.packets.candidates + 2 * blockIdx.x, bits_of(best.value), tag);
            publish(task.packets.candidates + 2 * blockIdx.x + 1, (uint32_t)best.id, tag);
        }
        good = receive_token(&best, task, tag, candidates[1]);
        if (!good) { break; }
        const bool broken = best.value != best.value;
        const int token = broken ? (int)no_token : best.id;
        if (blockIdx.x == 0 && threadIdx.x == 0) { task.greedy.chosen[count + step] = token; }
        left--;
        if (token == stop || broken) {
            ended = true, left = 0, step++;
            break;
        }

        mine = no_candidate;
        float pivot = to_float(task.token_embedding[(int64_t)token * C]) +
                      to_float(task.position_embedding[(int64_t)position * C]);
        const block_weights<T> &w = task.block;
        for (int half = 0; half <= 2 * L && good; half++) { // of a layer: attention, MLP; then the logits
            block.dynamic = dynamic + unknown_zero();
            const int layer = half / 2, kind = half == 2 * L ? logits : half % 2 == 0 ? qkv : fc;
            const int64_t at = layer * task.weights_stride;
            const int buffer = kind == fc;
            const unsigned layers_before = (unsigned)(step * L + layer),
                           phase = layers_before + (kind == fc ? 0u : (unsigned)step);
            const stream_input<T> input = {half == 0    ? nullptr
                                           : kind == fc ? task.packets.projected
                                                        : task.packets.expanded,
                                           kind == fc ? min(task.H, clusters) : clusters,
                                           kind == fc ? tag : tag - 1,
                                           kind == fc ? w.attention_bias + at : w.mlp_bias + at - task.weights_stride,
                                           token,
                                           position};
            const T *gain = kind == qkv ? w.ln1_weight + at : kind == fc ? w.ln2_weight + at : task.final_weight;
            const float2 *constants = task.packets.constants + (int64_t)layer * 7 * C + (kind == fc ? 3 * C : 0);
            row_batch<T, W> rows(parts[kind], layer, constants);
            rows.locate(units, C, plan.batch);
            good &= take_stream<T, W>(block, input, gain, pivot, buffer);
            multiply_whole_rows<T, W>(
                block, units, rows, buffer, phase, &pivot, &turn, &good, [&](int run, int row, bool there, float y) {
                    if (kind == qkv) {
                        const int first = block.share.heads.first * task.D, rows = block.share.heads.count * task.D;
                        block.send_row(plan.heads, row - first + run * (rows - C), y, there, heads_barrier);
                    } else if (kind == fc) {
                        block.send_row(plan.hidden, row - block.share.hidden.first, activate(y, task.activation), there,
                                       hidden_barrier);
                    } else if (there && first_lane) {
                        task.logits[row] = y;
                        if (row < choices) { mine = better(mine, {y, row}); }
                    }
                });
            if (!good || kind == logits) { break; }
            if (kind == qkv) {
                for (int h = 0; h < block.share.heads.count && good; h++) {
                    if (task.D == 64) {
                        attend<T, 64>(block, layer, position, h, layers_before, &good);
                    } else {
                        attend<T, 0>(block, layer, position, h, layers_before, &good);
                    }
                }
                piece_rows<T> pieces(parts[projection], layer);
                pieces.locate(units);
                if (good && block.share.heads.count > 0) { merge_heads(block, layers_before, &good); }
                if (!good) { break; }
                multiply_pieces(units, pieces, merged, halves<T>, plan.merged_pitch, projected, tag);
            } else {
                piece_rows<T> pieces(parts[mlp], layer);
                pieces.locate(units);
                good &= block.hidden().wait(layers_before, threadIdx.x == 0, task.packets.failed);
                multiply_pieces(units, pieces, hidden, 1, 0, expanded, tag);
                tag++;
            }
        }
        if (!good) { break; }
        position = min(position + 1, task.S - 1);
    }
    if (threadIdx.x == 0) { *(volatile int *)&finished = 1; }
    // All other blocks have read these, for their results were needed here.
    if (blockIdx.x == 0 && good) {
        for (int i = step + (int)threadIdx.x; i < task.steps; i += threads) { task.greedy.chosen[count + i] = -1; }
        if (threadIdx.x == 0) {
            task.greedy.count[0] = count + task.steps;
            task.greedy.left[0] = ended ? 0 : left;
            task.positions[0] = position;
        }
    }
    meet_cluster(); // a block's shared memory exists until others have sent
}

// ---- on the host ----

// The narrowest W that fits, or 0.
static int width_for(int C) {
    for (int W : widths) {
        if (C <= warps * W) { return W; }
    }
    return 0;
}

template <class T> static auto kernel_for(int W) {
    return W == widths[0]   ? decode_persistent_kernel<T, widths[0]>
           : W == widths[1] ? decode_persistent_kernel<T, widths[1]>
           : W == widths[2] ? decode_persistent_kernel<T, widths[2]>
                            : decode_persistent_kernel<T, widths[3]>;
}

// The shared memory of the cluster that needs most.
template <class T> static shared_plan plan_for(const gpt2_config &config, int clusters) {
    constexpr size_t fixed = 2048; // the kernel's own variables
    const int C = config.channels, D = C / config.heads, step = step_columns<T>, W = width_for(C);
    int heads = 0, most_hidden = 0;
    for (int k = 0; k < clusters; k++) {
        const cluster_share share = share_of_cluster<T>(C, config.heads, k, clusters);
        heads = std::max(heads, share.heads.count), most_hidden = std::max(most_hidden, share.hidden.count);
    }
    const auto odd_steps = [&](int columns) { // two rows are in different banks
        return (((columns + step - 1) / step) | 1) * step;
    };
    const int columns = (C / 2 + ranks - 1) / ranks * 2; // of the residual stream
    shared_plan plan = {};
    plan.batch = most_units;
    const auto take = [&](size_t &place, size_t elements, size_t size) {
        place = plan.all, plan.all = (plan.all + elements * size + 15) / 16 * 16;
    };
    plan.x_pitch = odd_steps(W), plan.merged_pitch = odd_steps(heads * D);
    take(plan.own, (size_t)(C / 2 + ranks - 1) / ranks, sizeof(float2));
    for (int i = 0; i < 2; i++) {
        take(plan.x[i], (size_t)warps * halves<T> * plan.x_pitch, sizeof(T));
        take(plan.statistics[i], ranks * warps, sizeof(float2));
    }
    take(plan.heads, (size_t)3 * heads * D, sizeof(T));
    take(plan.parts_of_heads, (size_t)heads * ranks * (D + 2), sizeof(float));
    take(plan.merged, (size_t)halves<T> * plan.merged_pitch, sizeof(T));
    take(plan.hidden, (size_t)(most_hidden + step - 1) / step * step, sizeof(T));
    take(plan.sums, 2 * group_rows * warps, sizeof(float));
    take(plan.norms, 2 * warps, sizeof(float2));
    take(plan.outs, (size_t)threads / (D / vec16<T>::size) * (D + 2), sizeof(float));
    take(plan.parts, kinds, sizeof(matrix_part<T>));
    take(plan.arrivals, arrival_barriers, sizeof(uint64_t));
    take(plan.ring_barriers, 2 * ring_barriers, sizeof(uint64_t));
    take(plan.records, ring_barriers, sizeof(unit_record));
    plan.all = (plan.all + 127) / 128 * 128;
    plan.places = plan.all;
    if (in_ring) {
        // Zeros, which a warp whose columns are beyond C reads after the last place.
        const size_t margin =
            std::max(0, warps * W * (int)sizeof(T) - ring_stride(C * (int)sizeof(T)) + 127) / 128 * 128;
        const size_t most = (size_t)most_shared_memory(), rest = plan.all + margin + fixed;
        plan.ring_bytes = most > rest ? (int)((most - rest) / 128 * 128) : 0;
        plan.all += (size_t)plan.ring_bytes + margin;
        plan.in_flight = bytes_in_flight;
        // What is multiplied together must be in the ring together, and a unit's size may be left at its end: units of whole rows, or a
        // pass of all warps over pieces.
        const int unit = unit_rows * ring_stride(C * (int)sizeof(T));
        const int pieces = std::max(heads * D, most_hidden) * (int)sizeof(T), pass = warps * 2 * unit_rows;
        const bool passes = std::min(pass, columns) * ring_stride(pieces) + most_piece_bytes <= plan.ring_bytes;
        plan.batch = passes ? std::min((int)most_units, plan.ring_bytes / unit - 1) : 0;
    }
    return plan;
}

struct persistent_launch {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attributes[2] = {};
    shared_plan plan;
    int clusters = 0; // 0: the kernel can't run

    persistent_launch() = default;
    persistent_launch(const persistent_launch &) = delete; // config points to attributes

    void shape(int clusters_, cudaStream_t stream) {
        clusters = clusters_;
        config.gridDim = dim3((unsigned)(clusters * ranks)), config.blockDim = dim3(block_threads);
        config.dynamicSmemBytes = plan.all, config.stream = stream, config.attrs = attributes;
        attributes[0].id = cudaLaunchAttributeCooperative;
        attributes[0].val.cooperative = 1;
        config.numAttrs = 1;
#if !defined(SIMT_CPU_BACKEND)
        attributes[1].id = cudaLaunchAttributeClusterDimension;
        attributes[1].val.clusterDim.x = ranks;
        attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
        config.numAttrs = 2;
#endif
    }
};

// Do all blocks have some hidden values? Then each layer needs results of all of them, and none can be a layer behind the others.
template <class T> static bool can_divide(const gpt2_config &config, int clusters) {
    for (int k = 0; k < clusters; k++) {
        const int least = ranks * 4 / (int)sizeof(T);
        if (share_of_cluster<T>(config.channels, config.heads, k, clusters).hidden.count < least) { return false; }
    }
    return true;
}

// As many clusters as can run at the same time, if the model can be divided among them.
template <class T> static void plan_launch(persistent_launch &launch, const gpt2_config &config, cudaStream_t stream) {
    int most = 2;
#if !defined(SIMT_CPU_BACKEND)
    const auto kernel = kernel_for<T>(width_for(config.channels));
    most = most_clusters;
    launch.plan = plan_for<T>(config, most);
    launch.shape(most, stream);
    int active = 0;
    if (allow_shared_memory(kernel, launch.plan.all) != cudaSuccess ||
        cudaOccupancyMaxActiveClusters(&active, kernel, &launch.config) != cudaSuccess) {
        active = 0;
    }
    most = std::min(most, active);
#endif
    int clusters = most;
    while (clusters > 0 && !can_divide<T>(config, clusters)) { clusters--; }
    if (clusters > 0) { launch.plan = plan_for<T>(config, clusters); }
    launch.shape(clusters, stream);
}

template <class T> bool decode_persistent_takes(const gpt2_device &device, const gpt2_config &config) {
    const int C = config.channels, D = C / config.heads;
    int device_id = 0, cooperative = 0;
    if (cudaGetDevice(&device_id) != cudaSuccess ||
        cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device_id) != cudaSuccess) {
        return false;
    }
    if (clusters_checked || !cooperative || device.capability < 90 || C % vec16<T>::size != 0 || C / 2 < ranks ||
        width_for(C) == 0 || !decode_split_takes<T>(D)) {
        return false;
    }
    persistent_launch launch;
    plan_launch<T>(launch, config, device.stream);
    return launch.clusters > 0 && (!in_ring || launch.plan.batch > 0);
}

template <class T> static packet_buffers lay_out(arena &from, const gpt2_config &config) {
    const int C = config.channels;
    packet_buffers buffers;
    from.take(buffers.projected, (int64_t)most_clusters * C);
    from.take(buffers.expanded, (int64_t)most_clusters * C);
    from.take(buffers.candidates, 2 * most_clusters * ranks);
    from.take(buffers.bases, 2 * most_clusters * ranks);
    from.take(buffers.failed, 1);
    from.take(buffers.constants, (int64_t)7 * config.layers * C + config.vocabulary);
    return buffers;
}

template <class T> size_t decode_persistent_bytes(const gpt2_device &, const gpt2_config &config) {
    arena count = {nullptr, 0};
    lay_out<T>(count, config);
    return count.used;
}

template <class T>
static int fold_norms(gpt2_device &device, const params<T> &w, const gpt2_config &config, float2 *to) {
    const int C = config.channels;
    const auto fold = [&](const T *weights, const T *gain, const T *shift, const T *bias, int rows) {
        const int each = 8;
        fold_norm_kernel<T>
            <<<(rows + each - 1) / each, each * warp_size, 0, device.stream>>>(to, weights, gain, shift, bias, rows, C);
        to += rows;
        return cudaGetLastError();
    };
    for (int layer = 0; layer < config.layers; layer++) {
        const block_weights<T> &b = w.blocks[layer];
        TRY(fold(b.qkv_weight, b.ln1_weight, b.ln1_bias, b.qkv_bias, 3 * C));
        TRY(fold(b.fc_weight, b.ln2_weight, b.ln2_bias, b.fc_bias, 4 * C));
    }
    return fold(w.head, w.final_weight, w.final_bias, nullptr, config.vocabulary);
}

template <class T> int decode_persistent(gpt2_device &device, tensors<T> &all, int steps) {
    const gpt2_config &config = all.config;
    const params<T> &w = all.weights;
    const int L = config.layers, D = config.channels / config.heads;
    const int64_t tags = (int64_t)steps * L;
    persistent_memory &memory = all.work.persistent;
    if (memory.tag == 0 || memory.tag + tags > UINT32_MAX) { // no packet has a tag yet, or all tags have been used
        TRY(cudaMemsetAsync(memory.base, 0, decode_persistent_bytes<T>(device, config), device.stream));
        arena place = {memory.base, 0};
        TRY(fold_norms(device, w, config, lay_out<T>(place, config).constants));
        memory.tag = 1;
    }
    arena place = {memory.base, 0};
    persistent_task<T> task = {};
    task.packets = lay_out<T>(place, config);
    task.tag = (unsigned)memory.tag;
    memory.tag += tags;
    task.block = w.blocks[0];
    task.k = all.cache[0].k, task.v = all.cache[0].v;
    if (L > 1) { // lay_out of params.cu gives each layer the same places, one after the other
        task.weights_stride = w.blocks[1].ln1_weight - w.blocks[0].ln1_weight;
        task.cache_stride = all.cache[1].k - all.cache[0].k;
    }
    task.head = w.head, task.activation = config.activation;
    task.token_embedding = w.token_embedding, task.position_embedding = w.position_embedding;
    task.final_weight = w.final_weight;
    task.logits = all.work.logits, task.positions = all.work.positions, task.greedy = all.work.greedy;
    task.steps = steps, task.L = L, task.C = config.channels, task.H = config.heads, task.D = D;
    task.S = all.context, task.V = config.vocabulary;
    task.epsilon = config.epsilon, task.scale = 1.0f / sqrtf((float)D),
    task.per_channel = 1.0f / (float)config.channels;

    persistent_launch launch;
    plan_launch<T>(launch, config, device.stream);
    task.plan = launch.plan;
    const auto kernel = kernel_for<T>(width_for(config.channels));
    TRY(allow_shared_memory(kernel, task.plan.all));
    return cudaLaunchKernelEx(&launch.config, kernel, task);
}

template <class T> int decode_persistent_outcome(gpt2_device &device, tensors<T> &all) {
    (void)device;
    persistent_memory &memory = all.work.persistent;
    arena place = {memory.base, 0};
    unsigned failed = 0;
    TRY(cudaMemcpy(&failed, lay_out<T>(place, all.config).failed, sizeof failed, cudaMemcpyDeviceToHost));
    if (failed == 0) { return 0; }
    memory.tag = 0; // begin anew
    return cudaErrorLaunchTimeout;
}

#define INSTANTIATE(T)                                                                    \
    template bool decode_persistent_takes<T>(const gpt2_device &, const gpt2_config &);   \
    template size_t decode_persistent_bytes<T>(const gpt2_device &, const gpt2_config &); \
    template int decode_persistent(gpt2_device &, tensors<T> &, int);                     \
    template int decode_persistent_outcome(gpt2_device &, tensors<T> &);
FOR_EACH_TYPE(INSTANTIATE)
