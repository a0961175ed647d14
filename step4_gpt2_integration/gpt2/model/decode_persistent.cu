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
// Kernel    decode_persistent_kernel<T>: a block on each multiprocessor, of 8 warps that multiply and one that streams the weights. A
//           block owns fixed rows of each matrix, and of the residual stream. A step has 5 phases a layer:
//             qkv          LayerNorm of the residual stream, product
//             attention    a part of the keys of a head; parts are merged where they are read
//             projection   merged attention, product, residual add
//             fc           LayerNorm, product, GELU
//             mlp          product, residual add
//           and then the logits, and the choice of the next token: the best of each block's rows, then of all blocks.
//           Each phase needs results of all blocks. They are handed over as packets (packets.cuh).
//           A warp has the same columns in every product, so it waits for those results alone. It multiplies 8 rows at a time on the
//           tensor cores. While it waits for x, it reads those weights from the ring into registers. A 16-bit type does not hold an
//           fp32 x, so x has two rows: its upper half, and what that leaves. After the product the warps meet once, and 8 lanes add the
//           sums of a row.
//           A phase's packets are overwritten one layer later, when the new values depend on all readers of the old ones.
//           New keys and values are written to the cache without a tag. Other blocks read them in later steps: a fence before the
//           choice of the next token orders them.
// Measured  On an H100, 124M in bf16 at position 64: 182 us a step. 61 hand-overs alone take 134 us while weights arrive, the logits
//           about 27.
//           A warp's instructions between two hand-overs cost most of the rest: see docs/decode.md.
#include "gpt2/model/decode_persistent.cuh"

#include "gpt2/model/activation.cuh"
#include "gpt2/model/decode_split.cuh"
#include "gpt2/model/persistent_attention.cuh"
#include "gpt2/model/persistent_input.cuh"
#include "gpt2/model/vec16.cuh"

#include <algorithm>
#include <cmath>

// ---- products ----

// Up to four units, which are multiplied together: rows of a matrix that follow each other, or the four pieces of the same rows.
template <class T> struct unit_batch {
    int units, rows; // rows: of all units, or of each piece
    // Of each unit row lane / 4, at the lane's first column; null on the CPU backend if there is none. And its first elements.
    const T *from[most_units];
    uint4 kept[most_units][kept_steps];
};

// Step i of a row. Beyond C a row has other elements, which x's zeros cancel.
template <class T> __device__ static uint4 weights_at(const T *row, int i, int columns) {
    const int c = i * step_columns<T>;
    return in_ring || (row != nullptr && c < columns) ? *(const uint4 *)(row + c) : make_uint4(0, 0, 0, 0);
}

// sums[j] = rows of x times the rows of unit j, over the warp's columns. x: its first row; for each further unit `next` elements later.
// In a 16-bit type lane (g, t) has the sums of row g of x with rows 2t and 2t + 1 of the unit; in fp32 it has that of its own columns
// with row g of the unit.
//
// The tensor cores multiply x (16, 16) by 8 rows. The lane's 16 bytes of a row of x are its part of x's rows g and g + 8, twice two
// columns each. So one product is right in the upper half of its result, with the first and third two columns of the weights, and one
// in the lower half, with the others. The other halves are of no use, nor are rows that x or the unit does not have.
template <class T, int W>
__device__ static void multiply(float (&sums)[most_units][2], const unit_batch<T> &batch, const T *x, int next,
                                int pitch, int columns) {
    constexpr int size = vec16<T>::size, steps = W / step_columns<T>;
    const int lane = (int)threadIdx.x % warp_size;
    columns -= lane % 4 * size;
    x += lane % 4 * size;
    if constexpr (sizeof(T) == 2) {
        float upper[most_units][4] = {}, lower[most_units][4] = {};
        x += next == 0 ? lane / 4 % halves<T> * pitch : 0;
        uint4 of_x[steps];
#pragma unroll
        for (int j = 0; j < most_units; j++) {
            if (j >= batch.units) { break; }
            if (j == 0 || next != 0) {
#pragma unroll
                for (int i = 0; i < steps; i++) { of_x[i] = *(const uint4 *)(x + j * next + i * step_columns<T>); }
            }
#pragma unroll
            for (int i = 0; i < steps; i++) {
                const uint4 w =
                    i < kept_steps ? batch.kept[j][i < kept_steps ? i : 0] : weights_at(batch.from[j], i, columns);
                multiply_add<T>(upper[j], {of_x[i].x, of_x[i].y, of_x[i].z, of_x[i].w}, w.x, w.z);
                multiply_add<T>(lower[j], {of_x[i].x, of_x[i].y, of_x[i].z, of_x[i].w}, w.y, w.w);
            }
        }
#pragma unroll
        for (int j = 0; j < most_units; j++) {
            sums[j][0] = upper[j][0] + lower[j][2], sums[j][1] = upper[j][1] + lower[j][3];
        }
    } else {
#pragma unroll
        for (int j = 0; j < most_units; j++) {
            if (j >= batch.units) { break; }
            for (int i = 0; i < steps; i++) {
                float w[size], values[size];
                unpack(w, vec16<T>{weights_at(batch.from[j], i, columns)});
                unpack(values, vec16_load(x + j * next + i * step_columns<T>));
                for (int e = 0; e < size; e++) { sums[j][0] += w[e] * values[e]; }
            }
        }
    }
}

// The sums of a unit, whose rows begin at row `first` of the group, to where the lanes that add them look. all: (most_sums, sums_pitch)
template <class T> __device__ static void store_sums(float *all, float (&sums)[2], int rows_of_x, int first) {
    const int lane = threadIdx.x % warp_size, g = lane / 4, t = lane % 4;
    float *to = all + first * warps + threadIdx.x / warp_size;
    if constexpr (sizeof(T) == 2) {
        if (g >= rows_of_x) { return; }
        to[g * sums_pitch + 2 * t * warps] = sums[0];
        to[g * sums_pitch + (2 * t + 1) * warps] = sums[1];
    } else {
        for (int offset = 1; offset < 4; offset *= 2) { sums[0] += __shfl_xor_sync(all_lanes, sums[0], offset); }
        if (t == 0) { to[g * warps] = sums[0]; }
    }
}

// ---- what a phase writes ----

// The sum of x's row times the row of the thread's octet; exists: is there such a row? sums: (most_sums, sums_pitch), of the group
__device__ static float finish_row(const float *sums, bool exists, int rows_of_x) {
    const float *of = sums + threadIdx.x;
    return over_octet(exists ? rows_of_x == 2 ? of[0] + of[sums_pitch] : of[0] : 0.0f);
}

// The value of row r to the other blocks, in a packet with its neighbours'. All threads call.
template <class T> __device__ static void publish_row(packet *to, float y, int r, bool there, unsigned tag) {
    constexpr int width = per_packet<T>;
    float values[width] = {y};
    if constexpr (width == 2) { values[1] = __shfl_down_sync(all_lanes, y, octet); }
    if (there && r % width == 0) { publish(to + r / width, pack_elements<T>(values), tag); }
}

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
    __shared__ vector_part<T> small[vectors];
    __shared__ candidate candidates[2][warps];
    __shared__ int finished; // no unit is needed any more
    const shared_plan &plan = task.plan;
    uint64_t *barriers = (uint64_t *)(dynamic + plan.barriers);
    const ring_memory ring = {dynamic, barriers, barriers + ring_barriers, plan.places, plan.stride, plan.in_flight};
    float *sums = (float *)(dynamic + plan.sums), *outs = (float *)(dynamic + plan.outs);
    float *own = (float *)(dynamic + plan.own); // the residual stream at the block's rows
    matrix_part<T> *parts = (matrix_part<T> *)(dynamic + plan.parts);
    // Of each warp's columns, sums of values less the pivot, and of their squares: (2, warps)
    float2 *statistics = (float2 *)(dynamic + plan.statistics);
    const int C = task.C, warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;

    // Columns that no row has are multiplied too, and must be zeros.
    for (size_t i = threadIdx.x * sizeof(uint4); i < plan.all; i += blockDim.x * sizeof(uint4)) {
        *(uint4 *)(dynamic + i) = make_uint4(0, 0, 0, 0);
    }
    __syncthreads();
    if (threadIdx.x < kinds) {
        constexpr int in_packets = per_packet<T>;
        const block_weights<T> &w = task.block;
        // clang-format off
        const struct { const T *weights; int rows, unit, pieces; } all[kinds] = {
            {w.qkv_weight,         3 * C,  in_packets, 1},
            {w.attention_weight,   C,      1,          1},
            {w.fc_weight,          4 * C,  in_packets, 1},
            {w.mlp_weight,         C,      1,          4},
            {task.head,            task.V, 1,          1},
        };
        // clang-format on
        const int kind = threadIdx.x;
        const span rows = rows_of_block(all[kind].rows, all[kind].unit);
        parts[kind] = {all[kind].weights + (int64_t)rows.first * all[kind].pieces * C,
                       kind == logits ? 0 : task.weights_stride, rows.first, rows.count, all[kind].pieces};
    }
    if (threadIdx.x < vectors) { small[threadIdx.x] = vector_of(task, threadIdx.x); }
    zeros_before_copies();
    __syncthreads();
    if (threadIdx.x == 0) { open_ring(ring, warps), finished = 0; }
    __syncthreads();
    const int choices = task.greedy.settings[0], stop = task.greedy.settings[1], count = task.greedy.count[0];
    int left = task.greedy.left[0], position = task.positions[0], step = 0;
    if (left == 0) {
        if (blockIdx.x == 0) {
            for (int i = threadIdx.x; i < task.steps; i += blockDim.x) { task.greedy.chosen[count + i] = -1; }
            if (threadIdx.x == 0) { task.greedy.count[0] = count + task.steps; }
        }
        return;
    }
    if (warp == warps) {
        stream_weights(ring, parts, C, task.L, min(task.steps, left), &finished);
        return;
    }
    prefetch_vectors(small, 0);
    unit_reader<T> units(ring);
    const span columns = {warp * W, min(max(C - warp * W, 0), W)};
    T *x = (T *)(dynamic + plan.x) + warp * most_pairs * plan.x_pitch;
    const int row = threadIdx.x / octet; // of a group
    const bool first_lane = threadIdx.x % octet == 0;

    const int logit_end = min(parts[logits].first + parts[logits].rows, choices);
    candidate mine = no_candidate;
    for (int id = parts[logits].first + (int)threadIdx.x; id < logit_end; id += threads) {
        mine = better(mine, {task.logits[id], id});
    }
    bool good = true, ended = false;
    unsigned buffer = 0; // of the sums
    for (; step < task.steps && left > 0; step++) {
        unsigned tag = task.tag + (unsigned)step * (unsigned)task.L;
        __threadfence(); // the step's new keys and values, which other blocks read in the next step
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

        for (int r = row; r < parts[projection].rows && first_lane; r += group_rows) {
            const int c = parts[projection].first + r;
            own[r] = to_float(task.token_embedding[(int64_t)token * C + c]) +
                     to_float(task.position_embedding[(int64_t)position * C + c]);
        }
        mine = no_candidate;
        float pivot = to_float(task.token_embedding[(int64_t)token * C]) +
                      to_float(task.position_embedding[(int64_t)position * C]);
        const int keys = keys_of_part(position + 1, task.parts), key_parts = (position + keys) / keys;
        const block_weights<T> &w = task.block;
        for (int layer = 0, kind = qkv; kind != kinds && good;) {
            const int64_t at = layer * task.weights_stride;
            const matrix_part<T> &part = parts[kind];
            const bool normalised = kind == qkv || kind == fc || kind == logits;
            const bool whole = part.pieces == 1; // rows: then a batch has four units, else four pieces of one
            const int rows_of_x = whole ? halves<T> : 1;
            const float2 *constants = task.packets.constants + part.first +
                                      (kind == logits ? (int64_t)task.L * 7 * C
                                       : kind == fc   ? (int64_t)layer * 7 * C + 3 * C
                                                      : (int64_t)layer * 7 * C);
            const T *bias = (kind == projection ? w.attention_bias : w.mlp_bias) + at + part.first;
            const auto constants_of = [&](int r) { // of the row: its sum with the gain, and what is added at the end
                if (r >= part.rows) { return make_float2(0.0f, 0.0f); }
                return normalised ? constants[r] : make_float2(0.0f, to_float(bias[r]));
            };
            unit_batch<T> batch;
            batch.units = batch.rows = 0;
            const auto prepare = [&](int first) {
                const int group_end = min(first / group_rows * group_rows + (int)group_rows, part.rows), g = lane / 4;
                batch.rows = min(group_end - first, whole ? (int)group_rows : (int)unit_rows);
                batch.units = whole ? (batch.rows + unit_rows - 1) / unit_rows : part.pieces;
                const T *in_memory = part.weights + layer * part.stride + (int64_t)first * part.pieces * C;
                units.wait(batch.units);
#pragma unroll
                for (int j = 0; j < most_units; j++) {
                    const int r = whole ? j * unit_rows + g : g;
                    const int64_t from = ((int64_t)r * part.pieces + (whole ? 0 : j)) * C;
                    batch.from[j] =
                        units.row(whole ? r : j * batch.rows + g, r < batch.rows ? in_memory + from : nullptr);
                    if (batch.from[j] != nullptr) { batch.from[j] += columns.first + lane % 4 * vec16<T>::size; }
                    if constexpr (sizeof(T) == 2) {
#pragma unroll
                        for (int i = 0; i < kept_steps && i < W / step_columns<T>; i++) {
                            if (j >= batch.units) { break; }
                            batch.kept[j][i] = weights_at(batch.from[j], i, columns.count - lane % 4 * vec16<T>::size);
                        }
                    }
                }
            };
            float2 constant = constants_of(row), moments = {};
            if (part.rows > 0) { prepare(0); }
            bool there = true;
            if (part.rows == 0) {
            } else if (kind == projection) {
                there = receive_attention<T, W>(x, task, columns, key_parts, tag);
            } else if (kind == mlp) {
                there = receive_hidden(x, task, columns, tag);
            } else {
                const packet *from = kind == fc                  ? task.packets.middle
                                     : layer == 0 && kind == qkv ? nullptr
                                                                 : task.packets.residual;
                const T *gain = kind == qkv ? w.ln1_weight + at : kind == fc ? w.ln2_weight + at : task.final_weight;
                there = receive_stream<T, W>(x, &moments, task, columns, from, kind == fc ? tag : tag - 1, token,
                                             position, gain, pivot);
            }
            __syncwarp(); // x is written
            for (int group = 0; group < part.rows && good; group += group_rows) {
                float *all = sums + buffer * most_sums * sums_pitch;
                const int end = min(group + (int)group_rows, part.rows);
                if (group > 0) { constant = constants_of(group + row); }
                for (int first = group; first < end; first += whole ? (int)group_rows : (int)unit_rows) {
                    float dot[most_units][2] = {};
                    if (first > 0) { prepare(first); }
                    multiply<T, W>(dot, batch, x, whole ? 0 : plan.x_pitch, plan.x_pitch, columns.count);
                    units.release(batch.units, whole ? batch.rows : batch.units * batch.rows);
                    if (!whole) {
                        dot[0][0] += dot[1][0] + dot[2][0] + dot[3][0], dot[0][1] += dot[1][1] + dot[2][1] + dot[3][1];
                    }
#pragma unroll
                    for (int j = 0; j < most_units; j++) {
                        if (j < (whole ? batch.units : 1)) {
                            store_sums<T>(all, dot[j], rows_of_x, first - group + j * unit_rows);
                        }
                    }
                }
                if (group == 0 && normalised) {
                    moments = make_float2(warp_sum(moments.x), warp_sum(moments.y));
                    if (lane == 0) { statistics[(kind == fc) * warps + warp] = moments; }
                }
                good = !any_of_block(!there);
                const int r = group + row;
                const bool publishes = first_lane && r < part.rows;
                float y = finish_row(all, r < part.rows, rows_of_x);
                if (normalised) {
                    const float2 part_of = statistics[(kind == fc) * warps + threadIdx.x % octet];
                    const float off = over_octet(part_of.x) * task.per_channel; // the mean less the pivot
                    const float variance = fmaxf(over_octet(part_of.y) * task.per_channel - off * off, 0.0f);
                    y = (y * (1.0f / shrink<T>)-off * constant.x) * rsqrtf(variance + task.epsilon);
                    if (end == part.rows) { pivot += off; }
                }
                y += constant.y;
                if (kind == qkv) {
                    publish_row<T>(task.packets.qkv + part.first / per_packet<T>, y, r, publishes, tag);
                } else if (kind == fc) {
                    y = activate(y, task.activation);
                    publish_row<T>(task.packets.hidden + part.first / per_packet<T>, y, r, publishes, tag);
                } else if (publishes && kind == logits) {
                    const int id = part.first + r;
                    task.logits[id] = y;
                    if (id < choices) { mine = better(mine, {y, id}); }
                } else if (publishes) {
                    own[r] += y;
                    publish((kind == mlp ? task.packets.residual : task.packets.middle) + part.first + r,
                            bits_of(own[r]), tag);
                }
                buffer ^= 1;
            }
            if (kind == qkv && good) {
                prefetch_vectors(small, layer + 1 < task.L ? layer + 1 : 0);
                for (int unit = blockIdx.x; unit < task.H * key_parts && good; unit += gridDim.x) {
                    if (unit >= (int)gridDim.x) { any_of_block(false); } // outs are free
                    const int h = unit % task.H, part_of_keys = unit / task.H;
                    good = task.D == 64 ? attend<T, 64>(task, layer, position, h, part_of_keys, keys, tag, outs)
                                        : attend<T, 0>(task, layer, position, h, part_of_keys, keys, tag, outs);
                }
            }
            if (kind == mlp) {
                tag++, layer++;
                kind = layer < task.L ? qkv : logits;
            } else {
                kind++;
            }
        }
        if (!good) { break; }
        position = min(position + 1, task.S - 1);
    }
    if (threadIdx.x == 0) { *(volatile int *)&finished = 1; }
    if (blockIdx.x != 0 || !good) { return; }
    // All other blocks have read these, for their results were needed here.
    for (int i = step + (int)threadIdx.x; i < task.steps; i += threads) { task.greedy.chosen[count + i] = -1; }
    if (threadIdx.x == 0) {
        task.greedy.count[0] = count + task.steps;
        task.greedy.left[0] = ended ? 0 : left;
        task.positions[0] = position;
    }
}

// ---- on the host ----

template <class T> static int blocks_for(const gpt2_device &device, const gpt2_config &config) {
    const int packets = 4 * config.channels / per_packet<T>; // each block has some of the hidden values
    return std::min({device.multiprocessors, (int)most_blocks, packets});
}

static int parts_for(const gpt2_config &config, int blocks) {
    return std::clamp(blocks / config.heads, 1, (int)most_parts);
}

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

template <class T> static shared_plan plan_for(const gpt2_device &device, const gpt2_config &config) {
    constexpr size_t fixed = 2048 + 128; // the kernel's own variables; the barriers' alignment
    const int C = config.channels, step = step_columns<T>;
    const int blocks = blocks_for<T>(device, config), own = (C + blocks - 1) / blocks;
    shared_plan plan = {};
    plan.stride = ring_stride(C * (int)sizeof(T));
    plan.x_pitch = (width_for(C) / step | 1) * step; // an odd number of steps: two rows are in different banks
    const size_t after_ring[] = {2 * ring_barriers * sizeof(uint64_t),
                                 (kinds * sizeof(matrix_part<T>) + 15) / 16 * 16,
                                 2 * warps * sizeof(float2),
                                 2 * most_sums * sums_pitch * sizeof(float),
                                 (size_t)(warps * (C / config.heads + 2) + 3) / 4 * 4 * sizeof(float),
                                 (size_t)(own + 3) / 4 * 4 * sizeof(float),
                                 (size_t)warps * most_pairs * plan.x_pitch * sizeof(T)};
    size_t *places[] = {&plan.barriers, &plan.parts, &plan.statistics, &plan.sums, &plan.outs, &plan.own, &plan.x};
    // Zeros, which a warp whose columns are beyond C reads after the last place.
    const size_t margin =
        in_ring ? std::max(0, warps * width_for(C) * (int)sizeof(T) - plan.stride + 127) / 128 * 128 : 0;
    size_t rest = margin;
    for (size_t bytes : after_ring) { rest += bytes; }
    const size_t most = (size_t)most_shared_memory();
    plan.places = in_ring && most > rest + fixed ? (int)((most - rest - fixed) / plan.stride) : 0;
    plan.in_flight = std::max(1, (int)bytes_in_flight / (unit_rows * plan.stride));
    plan.all = (size_t)plan.places * plan.stride + margin;
    plan.all = (plan.all + 127) / 128 * 128;
    for (int i = 0; i < 7; i++) { *places[i] = plan.all, plan.all += after_ring[i]; }
    return plan;
}

template <class T> bool decode_persistent_takes(const gpt2_device &device, const gpt2_config &config) {
    constexpr int fewest_places = 4 * unit_rows;
    const int C = config.channels, D = C / config.heads;
    int device_id = 0, cooperative = 0;
    if (cudaGetDevice(&device_id) != cudaSuccess ||
        cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device_id) != cudaSuccess) {
        return false;
    }
    return cooperative && device.capability >= 90 && C % vec16<T>::size == 0 && width_for(C) > 0 &&
           decode_split_takes<T>(D) && (!in_ring || plan_for<T>(device, config).places >= fewest_places);
}

template <class T> static packet_buffers lay_out(arena &from, const gpt2_device &device, const gpt2_config &config) {
    const int C = config.channels, blocks = blocks_for<T>(device, config);
    packet_buffers buffers;
    from.take(buffers.residual, C);
    from.take(buffers.middle, C);
    from.take(buffers.qkv, 3 * C / per_packet<T>);
    from.take(buffers.attention, (int64_t)2 * parts_for(config, blocks) * C / per_packet<T>);
    from.take(buffers.hidden, 4 * C / per_packet<T>);
    from.take(buffers.candidates, 2 * blocks);
    from.take(buffers.failed, 1);
    from.take(buffers.constants, (int64_t)7 * config.layers * C + config.vocabulary);
    return buffers;
}

template <class T> size_t decode_persistent_bytes(const gpt2_device &device, const gpt2_config &config) {
    arena count = {nullptr, 0};
    lay_out<T>(count, device, config);
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
    const int blocks = blocks_for<T>(device, config), L = config.layers, D = config.channels / config.heads;
    const int64_t tags = (int64_t)steps * L;
    persistent_memory &memory = all.work.persistent;
    if (memory.tag == 0 || memory.tag + tags > UINT32_MAX) { // no packet has a tag yet, or all tags have been used
        TRY(cudaMemsetAsync(memory.base, 0, decode_persistent_bytes<T>(device, config), device.stream));
        arena place = {memory.base, 0};
        TRY(fold_norms(device, w, config, lay_out<T>(place, device, config).constants));
        memory.tag = 1;
    }
    arena place = {memory.base, 0};
    persistent_task<T> task = {};
    task.packets = lay_out<T>(place, device, config);
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
    task.final_weight = w.final_weight, task.final_bias = w.final_bias;
    task.logits = all.work.logits, task.positions = all.work.positions, task.greedy = all.work.greedy;
    task.steps = steps, task.L = L, task.C = config.channels, task.H = config.heads, task.D = D;
    task.S = all.context, task.V = config.vocabulary, task.parts = parts_for(config, blocks);
    task.epsilon = config.epsilon, task.scale = 1.0f / sqrtf((float)D),
    task.per_channel = 1.0f / (float)config.channels;

    task.plan = plan_for<T>(device, config);
    const auto kernel = kernel_for<T>(width_for(config.channels));
    TRY(allow_shared_memory(kernel, task.plan.all));
    cudaLaunchConfig_t launch = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    launch.gridDim = dim3((unsigned)blocks), launch.blockDim = dim3(block_threads);
    launch.dynamicSmemBytes = task.plan.all, launch.stream = device.stream;
    launch.attrs = &attribute, launch.numAttrs = 1;
    return cudaLaunchKernelEx(&launch, kernel, task);
}

template <class T> int decode_persistent_outcome(gpt2_device &device, tensors<T> &all) {
    persistent_memory &memory = all.work.persistent;
    arena place = {memory.base, 0};
    unsigned failed = 0;
    TRY(cudaMemcpy(&failed, lay_out<T>(place, device, all.config).failed, sizeof failed, cudaMemcpyDeviceToHost));
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
