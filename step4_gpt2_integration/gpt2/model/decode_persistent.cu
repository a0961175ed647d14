// decode_persistent.cu — decoding of one sequence: one cooperative kernel for many tokens (decode_persistent.cuh)
//
// Purpose   A step of decode_fused.cu has 62 launches, and memory is idle at the end of each. Here one kernel runs all steps.
//           While a block waits for the results of others, its next weights come from memory (weight_ring.cuh).
// Math      y = activation?(LayerNorm?(x) W^T + b) + residual?, and softmax(q K^T / sqrt(D)) V, as in decode_fused.cu.
//           LayerNorm is folded into the product that reads it. With gain g, shift s, mean m and r = 1 / sqrt(variance +
//           epsilon),
//               sum_c W_c ((x_c - m) r g_c + s_c)  =  r (sum_c W_c g_c (x_c - p) - (m - p) sum_c W_c g_c) + sum_c W_c s_c
//           for any p. The last two sums are constants of a row, computed once. So the product does not wait for m and r. p is
//           the mean of the LayerNorm before, which is near m.
// Bytes     The weights and the cache: 247 MB for 124M in bf16.
// Kernel    decode_persistent_kernel<T, Weight, W, D>: clusters of 8 blocks, at most one on a multiprocessor. A block has 8 warps
//           that multiply, 2 or 3 that stream the weights, and one that computes the LayerNorms' means and deviations. Heads
//           and hidden values belong to a cluster, whose blocks hand over results to each other through shared memory
//           (cluster.cuh). What attention and MLP add to the residual stream is a sum of parts of all clusters. Each adds its
//           part to a total in L2 (totals.cuh). So a layer has two exchanges through L2:
//             exchange     wait for the totals, the residual stream, and send it to the cluster  (persistent_stream.cuh)
//             qkv          LayerNorm, product: the cluster's heads                               (persistent_products.cuh)
//             attention    each block a part of the keys of a head                               (persistent_attention.cuh)
//             projection   product with the cluster's heads: a part of each sum
//             exchange
//             fc           LayerNorm, product, GELU: the cluster's hidden values
//             mlp          product with the cluster's hidden values: a part of each sum
//           and then the logits, and the choice of the next token                           (persistent_choice.cuh)
//           New keys and values are written to the cache without a tag. The same block reads them.
//           What is received is overwritten one layer later, when the new values depend on all readers of the old ones.
//           Likewise the next part is added to a total when all readers of the last one have read it.
//           Registers must suffice: beside this much shared memory the L1 cache is too small for what a compiler would move to
//           memory. The loop over the layers must fit into the instruction cache: each phase is in it once.
// Measured  On an H200, 124M in bf16 at position 64: 122 us a step (docs/decode.md).
#include "gpt2/model/decode_persistent.cuh"

#include "gpt2/model/activation.cuh"
#include "gpt2/model/decode_split.cuh"
#include "gpt2/model/persistent_choice.cuh"
#include "gpt2/model/persistent_constants.cuh"
#include "gpt2/model/persistent_plan.cuh"
#include "gpt2/model/persistent_products.cuh"
#include "gpt2/model/persistent_stream.cuh"

#include <algorithm>
#include <cmath>
#include <cstdlib>

// ---- the kernel ----

// fixed_D: the channels of a head, or 0 for any
template <class T, class Weight, int W, int fixed_D>
__global__ void __launch_bounds__(most_threads, 1)
    decode_persistent_kernel(const persistent_task<T, Weight> task, const __grid_constant__ weight_maps maps) {
#if defined(SIMT_CPU_BACKEND) || !defined(__CUDA_ARCH__) || HOPPER_PTX // it is never launched on an older GPU
    __builtin_assume(threadIdx.x < most_threads);
    extern __shared__ __align__(128) char dynamic[];
    __shared__ candidate candidates[2][warps];
    __shared__ own_choice own;
    const shared_plan &plan = task.plan;
    const ring_memory ring = ring_of(dynamic, plan);
    matrix_part<Weight> *parts = (matrix_part<Weight> *)(dynamic + plan.parts);
    const int C = task.C, L = task.L, clusters = (int)gridDim.x / ranks, warp = (int)threadIdx.x / warp_size;
    persistent_block<T, Weight> block = {task, dynamic, {}};

    // What no other block sends must be zeros: columns that no row has are multiplied too.
    for (size_t i = threadIdx.x * sizeof(uint4); i < plan.all; i += blockDim.x * sizeof(uint4)) {
        *(uint4 *)(dynamic + i) = make_uint4(0, 0, 0, 0);
    }
    zeros_before_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
        block.state().share = share_of_cluster<Weight>(C, task.H, cluster_index(), clusters);
        block.state().position = task.positions[0];
        block.state().columns = part_of(C, column_unit<Weight>, block_rank(), ranks);
    }
    __syncthreads();
    if constexpr (coded<Weight>) { keep_units(block); }
    if (threadIdx.x < kinds) { parts[threadIdx.x] = part_of_block(task, block.share(), (int)threadIdx.x); }
    __syncthreads();
    if (threadIdx.x == 0) {
        own = choice_of_block(task, {parts[logits].row, parts[logits].rows});
        open_ring(ring, warps);
        open_inboxes<T, W>(block);
        __threadfence(); // the block has read what block 0 overwrites at the end
    }
    __syncthreads();
    block.cluster.open(dynamic, task.packets.bases, task.tag, block.flags());
    const int steps = min(task.steps, own.left);
    if (warp >= warps) {
        if (warp - warps == plan.streamers) {
            keep_norms(block);
        } else if (threadIdx.x % warp_size == 0) {
            const vector_prefetch<T> vectors(task);
            stream_weights(ring, warp - warps, parts, maps, L, steps, block.flags(), task.packets.waits,
                           [&](int layer) {
                               if (warp == warps) { vectors.request(layer); }
                           });
        }
        __syncwarp();
        meet_cluster();
        return;
    }
    stream_keeper<T, Weight, W> keeper(block);
    box_reader reader(ring);
    const bool first_lane = threadIdx.x % quad == 0;
    bool good = true, ended = false;
    float *const own_logits = (float *)(dynamic + plan.logits);
    for (int i = (int)threadIdx.x; i < parts[logits].rows; i += threads) { own_logits[i] = task.logits[own.first + i]; }
    int step = 0, turn = 0; // turn: of the sums' memory
    for (; step < steps; step++) {
        const unsigned tag = task.tag + (unsigned)(step * L);
        const int token = next_token(task, own, tag, own_logits, candidates, (draw_scratch *)(dynamic + plan.sums),
                                     block.flags(), &good);
        if (!good) { break; }
        if (blockIdx.x == 0 && threadIdx.x == 0) { task.choice.chosen[own.count + step] = token; }
        if (token == own.stop || token == no_token) {
            ended = true, step++;
            break;
        }

        keeper.begin(token, block.position_at(step), step);
        another_step(true);
        for (int half = 0; half <= 2 * L; half++) {
            block.dynamic = dynamic + unknown_zero();
            reader.ring = ring_of(block.dynamic, plan);
            const half_layer now = half_at(task, step, half);
            const int layer = now.layer, kind = now.kind;
            const float2 *constants = task.packets.constants + (int64_t)layer * 7 * C + (kind == fc ? 3 * C : 0);
            const float units = units_of_stream(block, now, keeper.over_deviation), over_before = keeper.over_deviation;
            layer_units of_layer = {}; // with codes
            if constexpr (coded<Weight>) { of_layer = block.units(layer); }
            row_batch<T, Weight, W> rows(parts[kind], layer, constants,
                                         task.scales[kind] + (kind == logits ? 0 : layer * task.scales_stride),
                                         plan.batch);
            const bool attention = kind == qkv;
            const int position = block.position_at(step);
            using attention_part = attention_for<T, Weight, W, fixed_D>;
            constexpr bool early = !coded<Weight> || W <= 64; // before QKV, if there are registers
            typename attention_part::requested first;
            const auto request_first = [&] {
                const attention_part part(block, now, position);
                part.request_first(first, part.team);
            };
            const float2 norm = multiply_whole_rows(
                block, reader, rows, now, __fdividef(1.0f, units), &turn,
                [&] {
                    if (early && attention) { request_first(); }
                    keeper.take(now, units);
                },
                [&](int value) {
                    const bool of_head = kind == qkv;
                    return block.target_of(of_head ? plan.heads : plan.hidden, value,
                                           of_head ? (int)sizeof(T) : bytes_of_two / 2,
                                           of_head ? heads_barrier : hidden_barrier);
                },
                [&](int value, const target &target, float y) {
                    const bool there = value >= 0;
                    if (kind == logits) {
                        if (there && first_lane) { own_logits[value] = task.logits[own.first + value] = y; }
                        return;
                    }
                    if (kind == fc) { y = activate(y, task.activation); }
                    if (coded<Weight> && kind == fc) {
                        block.send_digits(plan.hidden, value, y, of_layer.hidden, there, hidden_barrier);
                    } else {
                        block.send_row(target, y, there);
                    }
                });
            keeper.settle(norm);
            if constexpr (coded<Weight>) {
                constexpr float coarsest_unit = 1.0f / 256.0f; // in deviations that the LayerNorm itself finds
                if (threadIdx.x == 0 &&
                    norm.y > units_of_bound * over_largest(block, now, over_before) * coarsest_unit) {
                    atomicExch(task.packets.imprecise, 1u);
                }
            }
            if (kind == logits) { break; }
            if (attention) {
                if (!early) { request_first(); }
                attention_part(block, now, position).attend(first);
            }
            const int columns_kind = attention ? projection : mlp;
            column_batch<T, Weight, W> columns(parts[columns_kind], layer, plan.batch);
            columns.load_constants(task.scales[columns_kind] + layer * task.scales_stride,
                                   (attention ? task.block.attention_bias : task.block.mlp_bias) +
                                       layer * task.weights_stride);
            columns.load(reader);
            multiply_columns(reader, columns, block.dynamic + (attention ? plan.merged : plan.hidden),
                             __fdividef(1.0f, attention ? of_layer.value : of_layer.hidden),
                             attention ? task.packets.attended : task.packets.expanded, task.packets.imprecise, [&] {
                                 if (attention) {
                                     merge_heads<fixed_D>(block, now, of_layer.value);
                                 } else {
                                     block.hidden().wait(now.layers_before, threadIdx.x == 0, block.flags());
                                 }
                             });
        }
    }
    another_step(false);
    if (threadIdx.x == 0) { atomicExch(&block.flags()->finished, 1); }
    if (blockIdx.x == 0 && good) {
        for (int i = step + (int)threadIdx.x; i < task.steps; i += threads) { task.choice.chosen[own.count + i] = -1; }
        if (threadIdx.x == 0) { task.choice.count[0] = own.count + task.steps; }
        if (threadIdx.x == 0 && step > 0) { // all other blocks have read these, for their results were needed here
            task.choice.left[0] = ended ? 0 : own.left - step;
            task.positions[0] = block.position_at(step - (ended ? 1 : 0));
        }
    }
    meet_cluster(); // a block's shared memory exists until others have sent
#endif
}

// ---- on the host ----

template <class T, class Weight, int D> static auto kernel_of_width(int W) {
    constexpr auto all = widths<Weight>;
    return W == all[0]   ? decode_persistent_kernel<T, Weight, all[0], D>
           : W == all[1] ? decode_persistent_kernel<T, Weight, all[1], D>
           : W == all[2] ? decode_persistent_kernel<T, Weight, all[2], D>
                         : decode_persistent_kernel<T, Weight, all[3], D>;
}

template <class T, class Weight> static auto kernel_for(const gpt2_config &config) {
    const int W = width_for<Weight>(config.channels);
    if constexpr (sizeof(T) == 2) {
        if (config.channels / config.heads == 64) { return kernel_of_width<T, Weight, 64>(W); }
    }
    return kernel_of_width<T, Weight, 0>(W);
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
        config.gridDim = dim3((unsigned)(clusters * ranks)),
        config.blockDim = dim3((unsigned)(threads + in_ring * (plan.streamers + 1) * warp_size));
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

// As many clusters as can run at the same time, if the model can be divided among them.
template <class T, class Weight>
static void plan_launch(persistent_launch &launch, const gpt2_config &config, cudaStream_t stream) {
    int most = 2;
#if !defined(SIMT_CPU_BACKEND)
    const auto kernel = kernel_for<T, Weight>(config);
    most = most_clusters;
    launch.plan = plan_for<T, Weight>(config, most);
    launch.shape(most, stream);
    int active = 0;
    if (allow_shared_memory(kernel, launch.plan.all) != cudaSuccess ||
        cudaOccupancyMaxActiveClusters(&active, kernel, &launch.config) != cudaSuccess) {
        active = 0;
    }
    most = std::min(most, active);
#endif
    int clusters = most;
    while (clusters > 0 && !can_divide<T, Weight>(config, clusters)) { clusters--; }
    if (clusters > 0) { launch.plan = plan_for<T, Weight>(config, clusters); }
    launch.shape(clusters, stream);
}

template <class T, class Weight> static bool takes(const gpt2_device &device, const gpt2_config &config) {
    const int C = config.channels, D = C / config.heads;
    int device_id = 0, cooperative = 0;
    if (cudaGetDevice(&device_id) != cudaSuccess ||
        cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device_id) != cudaSuccess) {
        return false;
    }
    if (!cooperative || device.capability < 90 || C % vec16<Weight>::size != 0 || C / column_unit<Weight> < ranks ||
        width_for<Weight>(C) == 0 || !decode_split_takes<T>(D)) {
        return false;
    }
#if !defined(SIMT_CPU_BACKEND) // compiled for an older GPU, the kernel is empty
    cudaFuncAttributes attributes;
    const auto kernel = kernel_for<T, Weight>(config);
    if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess || attributes.ptxVersion < 90) { return false; }
#endif
    persistent_launch launch;
    plan_launch<T, Weight>(launch, config, device.stream);
    return launch.clusters > 0 && (!in_ring || launch.plan.batch > 0);
}

// f(Weight{}) with the type of the weights. Codes are multiplied beside 16-bit types alone.
template <class T, class F> static auto with_weights(gpt2_scheme scheme, F f) {
    if constexpr (sizeof(T) == 2) {
        if (scheme == GPT2_INT8) { return f(int8_code{}); }
    }
    return f(T{});
}

template <class T>
bool decode_persistent_takes(const gpt2_device &device, const gpt2_config &config, gpt2_scheme scheme) {
    if (scheme == GPT2_FP8 || (scheme == GPT2_INT8 && sizeof(T) == 4)) { return false; }
    return with_weights<T>(scheme, [&](auto weight) { return takes<T, decltype(weight)>(device, config); });
}

static packet_buffers lay_out(arena &from, const gpt2_config &config) {
    const int C = config.channels;
    packet_buffers buffers;
    from.take(buffers.attended, C);
    from.take(buffers.expanded, C);
    from.take(buffers.candidates, 2 * most_clusters * ranks);
    from.take(buffers.weighed, 2 * most_clusters * ranks);
    from.take(buffers.drawn, 2);
    from.take(buffers.bases, 2 * most_clusters * ranks);
    from.take(buffers.waits, 1);
    from.take(buffers.imprecise, 1);
    from.take(buffers.constants, (int64_t)7 * config.layers * C + config.vocabulary);
    from.take(buffers.bounds, config.layers + 1);
    from.take(buffers.logits_before, config.vocabulary);
    return buffers;
}

size_t decode_persistent_bytes(const gpt2_config &config) {
    arena count = {nullptr, 0};
    lay_out(count, config);
    return count.used;
}

// The matrices, for the copy engine.
template <class T, class Weight> static int describe(weight_maps &maps, const persistent_task<T, Weight> &task) {
#if defined(SIMT_CPU_BACKEND)
    (void)maps, (void)task;
#else
    const int C = task.C, L = task.L, rows = task.plan.bytes_of_columns / column_bytes;
    const auto whole = [&](int kind, int all, int layers) {
        return describe_weights(maps.of + kind, task.matrices[kind], layers, task.matrix_stride, all, C,
                                box_rows<Weight>, C);
    };
    const auto columns = [&](int kind, int all) {
        return describe_weights(maps.of + kind, task.matrices[kind], L, task.matrix_stride, C, all, rows,
                                box_columns<Weight>);
    };
    TRY(whole(qkv, 3 * C, L));
    TRY(columns(projection, C));
    TRY(whole(fc, 4 * C, L));
    TRY(columns(mlp, 4 * C));
    TRY(whole(logits, task.V, 1));
#endif
    return 0;
}

// Under a tool that slows the kernel down, such as compute-sanitizer, waits last longer than usual.
static int limit_waits(gpt2_device &device, wait_state *waits) {
    constexpr unsigned usual_seconds = 10;
    const char *text = getenv("GPT2_WAIT_SECONDS");
    const int seconds = text ? atoi(text) : 0;
    const wait_state none_failed = {0, seconds > 0 ? (unsigned)seconds : usual_seconds};
    return cudaMemcpyAsync(waits, &none_failed, sizeof none_failed, cudaMemcpyHostToDevice, device.stream);
}

static int copy_logits(gpt2_device &device, const gpt2_config &config, float *to, const float *from) {
    return cudaMemcpyAsync(to, from, (size_t)config.vocabulary * sizeof *to, cudaMemcpyDeviceToDevice, device.stream);
}

template <class T, class Weight> static int run(gpt2_device &device, tensors<T> &all, int steps) {
    const gpt2_config &config = all.config;
    const params<T> &w = all.weights;
    const int L = config.layers, D = config.channels / config.heads;
    const int64_t tags = (int64_t)steps * L;
    persistent_memory &memory = all.work.persistent;
    arena place = {memory.base, 0};
    persistent_task<T, Weight> task = {};
    task.packets = lay_out(place, config);
    if (memory.tag == 0 || memory.tag + tags > UINT32_MAX) { // no packet has a tag yet, or all tags have been used
        TRY(cudaMemsetAsync(memory.base, 0, decode_persistent_bytes(config), device.stream));
        TRY(limit_waits(device, task.packets.waits));
        TRY(fold_norms(device, all, task.packets));
        memory.tag = 1;
    }
    task.tag = (unsigned)memory.tag;
    memory.tag += tags;
    // Of `expanded` the first part takes off what is there.
    TRY(cudaMemsetAsync(task.packets.attended, 0, (size_t)config.channels * sizeof(total), device.stream));
    TRY(copy_logits(device, config, task.packets.logits_before, all.work.logits));
    task.block = w.blocks[0];
    task.k = all.cache[0].k, task.v = all.cache[0].v;
    const auto weights_of = [&](int layer, int kind) {
        const lookup_table<T> matrix = matrix_of(all, layer, kind);
        if constexpr (coded<Weight>) {
            return (const Weight *)matrix.coded.codes;
        } else {
            return matrix.plain;
        }
    };
    for (int kind = 0; kind < kinds; kind++) {
        task.matrices[kind] = weights_of(0, kind), task.scales[kind] = matrix_of(all, 0, kind).coded.scales;
    }
    if (L > 1) { // lay_out of params.cu gives each layer the same places, one after the other
        task.weights_stride = w.blocks[1].ln1_weight - w.blocks[0].ln1_weight;
        task.matrix_stride = weights_of(1, qkv) - weights_of(0, qkv);
        task.scales_stride = matrix_of(all, 1, qkv).coded.scales - task.scales[qkv];
        task.cache_stride = all.cache[1].k - all.cache[0].k;
    }
    task.activation = config.activation;
    task.token_embedding = token_table(all), task.position_embedding = w.position_embedding;
    task.final_weight = w.final_weight;
    task.logits = all.work.logits, task.positions = all.work.positions, task.choice = all.work.choice;
    task.steps = steps, task.L = L, task.C = config.channels, task.H = config.heads, task.D = D;
    task.S = all.context, task.V = config.vocabulary;
    task.epsilon = config.epsilon, task.scale = 1.0f / sqrtf((float)D),
    task.per_channel = 1.0f / (float)config.channels;

    persistent_launch launch;
    plan_launch<T, Weight>(launch, config, device.stream);
    task.plan = launch.plan;
    const auto kernel = kernel_for<T, Weight>(config);
    TRY(allow_shared_memory(kernel, task.plan.all));
    weight_maps maps = {};
    TRY(describe(maps, task));
    return cudaLaunchKernelEx(&launch.config, kernel, task, maps);
}

template <class T> int decode_persistent(gpt2_device &device, tensors<T> &all, int steps) {
    return with_weights<T>(all.scheme, [&](auto weight) { return run<T, decltype(weight)>(device, all, steps); });
}

template <class T> int decode_persistent_outcome(gpt2_device &device, tensors<T> &all) {
    (void)device;
    persistent_memory &memory = all.work.persistent;
    arena place = {memory.base, 0};
    const packet_buffers buffers = lay_out(place, all.config);
    wait_state waits = {};
    unsigned imprecise = 0;
    TRY(cudaMemcpy(&waits, buffers.waits, sizeof waits, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(&imprecise, buffers.imprecise, sizeof imprecise, cudaMemcpyDeviceToHost));
    if (waits.failed == 0 && imprecise == 0) { return 0; }
    memory.tag = 0; // begin anew
    return waits.failed != 0 ? cudaErrorLaunchTimeout : decode_imprecise;
}

template <class T> int decode_persistent_undo(gpt2_device &device, tensors<T> &all) {
    arena place = {all.work.persistent.base, 0};
    return copy_logits(device, all.config, all.work.logits, lay_out(place, all.config).logits_before);
}

#define INSTANTIATE(T)                                                                               \
    template bool decode_persistent_takes<T>(const gpt2_device &, const gpt2_config &, gpt2_scheme); \
    template int decode_persistent(gpt2_device &, tensors<T> &, int);                                \
    template int decode_persistent_outcome(gpt2_device &, tensors<T> &);                             \
    template int decode_persistent_undo(gpt2_device &, tensors<T> &);
FOR_EACH_TYPE(INSTANTIATE)
