// forward.cu — the passes (forward.cuh)
//
// prefill needs the last position's logits only. The last residual add, LayerNorm and product are computed for one row of each
// prompt. For 124M and a prompt of 1024 that saves 79 GFLOP of 290. In a fused form the last block's projection and MLP are,
// too, which saves 11 more; its keys and values are those of all rows.
//
// A divided model computes a group in two lanes. The sums over the ranks of one lane run on another stream, beside the products
// of the other lane: the network and the multiprocessors work at the same time.
//
// Prompts pass through the blocks in groups of all.together, one group after the other, so the activations' memory is that of a
// group.
#include "gpt2/model/forward.cuh"

#include "gpt2/model/block_fused.cuh"
#include "gpt2/model/embedding.cuh"
#include "gpt2/model/matmul.cuh"

#include <algorithm>
#include <vector>

template <class T> tensors<T> sequences_from(const tensors<T> &all, int first, int T_) {
    const int64_t tokens = (int64_t)first * T_, cached = (int64_t)first * all.context * all.width();
    tensors<T> rest = all;
    rest.work.tokens += tokens, rest.work.targets += tokens, rest.work.losses += tokens;
    rest.work.lengths += first;
    for (block_cache<T> &cache : rest.cache) { cache.k += cached, cache.v += cached; }
    return rest;
}

// Prompts that pass through the blocks together, with their part of the activations.
template <class T> struct lane {
    tensors<T> all;
    struct pass pass;
};

// `count` sequences from `first` on of a group whose prompts have T tokens, as the group's lane number `number`.
template <class T> static lane<T> lane_of(const tensors<T> &group, int number, int first, int count, int T_) {
    lane<T> part = {sequences_from(group, first, T_), {count, T_, false}};
    activations<T> &a = part.all.work;
    const int64_t rows = (int64_t)first * T_, C = group.config.channels, W = group.width();
    part.all.aside = &group.lanes[number];
    a.residual += rows * C, a.branch += rows * C, a.normalised += rows * C;
    if (a.hidden == a.qkv) { // qkv and attention of a lane are in the memory of its hidden
        a.hidden = a.qkv = a.qkv + 4 * rows * W;
        a.attention = a.qkv + 3 * (int64_t)count * T_ * W;
    } else {
        a.qkv += 3 * rows * W, a.attention += rows * W, a.hidden += 4 * rows * W;
    }
    return part;
}

// A divided model adds up the results of one half of the prompts while it computes those of the other.
template <class T> static std::vector<lane<T>> lanes_of(const tensors<T> &group, int B, int T_) {
    if (group.lanes == nullptr || B == 1) { return {{group, {B, T_, false}}}; }
    return {lane_of(group, 0, 0, B / 2, T_), lane_of(group, 1, B / 2, B - B / 2, T_)};
}

// Embedding and blocks. The result is residual and branch, or residual where adds_in_products; of a divided model the sum of
// branch has begun. ends: without the rest of the last block after the attention, which must be fused; then the result is
// residual and attention, at least at each prompt's last position.
template <class T>
static int run_blocks(gpt2_device &device, const kernel_table &kernels, std::vector<lane<T>> &lanes, bool ends) {
    const tensors<T> &model = lanes[0].all;
    const int C = model.config.channels, last = model.config.layers - 1;
    const bool fused = block_is_fused(model, lanes[0].pass);
    for (lane<T> &lane : lanes) {
        activations<T> &a = lane.all.work;
        const pass &pass = lane.pass;
        TRY(embed(device, a.residual, token_table(lane.all), lane.all.weights.position_embedding, a.tokens,
                  pass.decoding ? a.positions : nullptr, pass.B, pass.T, C));
        TRY(observe(device, "embedding", -1, a.residual, pass.N(), C, C));
    }
    for (int layer = 0; layer < model.config.layers; layer++) {
        const bool is_end = ends && layer == last;
        if (!(fused && model.coded_inputs)) {
            TRY(expand_block(device, lanes[0].all, layer));
        } // else codes are multiplied
        for (lane<T> &lane : lanes) {
            if (!fused) {
                TRY(block_forward(device, kernels, lane.all, layer, lane.pass));
                continue;
            }
            TRY(block_fused_begin(device, kernels, lane.all, layer, lane.pass, is_end));
            if (!is_end) { TRY(block_fused_project(device, lane.all, layer, lane.pass)); }
        }
        for (lane<T> &lane : lanes) {
            if (fused && !is_end) { TRY(block_fused_finish(device, kernels, lane.all, layer, lane.pass)); }
        }
    }
    return 0;
}

// normalised (N, C) = LayerNorm(residual + branch), or LayerNorm(residual) where adds_in_products
template <class T>
static int final_layernorm(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, T *residual,
                           const T *branch, const pass &pass) {
    const auto &ops = type_of<T>::kernels(kernels);
    activations<T> &a = all.work;
    const T *const weight = all.weights.final_weight, *const bias = all.weights.final_bias;
    const int rows = pass.N(), C = all.config.channels, L = all.config.layers;
    const float eps = all.config.epsilon;
    if (adds_in_products(device, all, pass)) {
        TRY(ops.layernorm_forward(a.normalised, a.mean, a.rstd, residual, weight, bias, rows, C, eps, device.stream));
    } else {
        TRY(ops.residual_layernorm_forward(a.normalised, residual, a.mean, a.rstd, residual, branch, weight, bias, rows,
                                           C, eps, device.stream));
    }
    TRY(observe(device, "residual after mlp", L - 1, residual, rows, C, C));
    TRY(observe(device, "final layernorm", L, a.normalised, rows, C, C));
    return 0;
}

// A head in 8 bits is expanded in parts, as many rows as fit in the memory of a block's matrices.
template <class T> static int logits_of_codes(gpt2_device &device, tensors<T> &all, const T *x, int rows) {
    const int C = all.config.channels, Vp = all.config.padded_vocabulary, most = 12 * C;
    T *part = all.weights.expanded;
    for (int first = 0; first < Vp; first += most) {
        const int count = std::min(most, Vp - first);
        TRY(expand(device, part, all.weights.head_codes, all.scheme, first, count, C));
        TRY((matmul<float, T>(device, all.work.logits + first, x, part, nullptr, rows, C, count, Vp)));
    }
    return 0;
}

template <class T> int logits_of_rows(gpt2_device &device, tensors<T> &all, int first, int rows) {
    activations<T> &a = all.work;
    const int C = all.config.channels, V = all.config.vocabulary, Vp = all.config.padded_vocabulary;
    const T *x = a.normalised + (int64_t)first * C;
    if (all.scheme != GPT2_PLAIN) {
        TRY(logits_of_codes(device, all, x, rows));
    } else {
        TRY((matmul<float, T>(device, a.logits, x, all.weights.head, nullptr, rows, C, Vp, Vp)));
    }
    TRY(observe(device, "logits", all.config.layers, a.logits, rows, V, Vp));
    return 0;
}

template <class T> int prefill(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int B, int T_) {
    activations<T> &a = all.work;
    const int C = all.config.channels;
    const bool ends = block_is_fused(all, {B, T_, false});
    const int result = ends ? all.width() : C; // the channels of the blocks' result
    for (int first = 0; first < B; first += all.together) {
        const int count = std::min(all.together, B - first);
        std::vector<lane<T>> lanes = lanes_of(sequences_from(all, first, T_), count, T_);
        TRY(run_blocks(device, kernels, lanes, ends));
        int64_t at = first;
        for (const lane<T> &lane : lanes) {
            const activations<T> &own = lane.all.work;
            TRY(last_rows(device, a.last_residual + at * C, own.residual, own.lengths, lane.pass.B, T_, C));
            TRY(last_rows(device, a.last_result + at * result, ends ? own.attention : own.branch, own.lengths,
                          lane.pass.B, T_, result));
            at += lane.pass.B;
        }
    }
    const pass last = {B, 1, false};
    const T *branch = a.last_result;
    if (ends) { // the rest of the last block, for these rows
        tensors<T> rows = all;
        rows.work.residual = a.last_residual, rows.work.attention = a.last_result;
        TRY(block_fused_project(device, rows, all.config.layers - 1, last));
        TRY(block_fused_finish(device, kernels, rows, all.config.layers - 1, last));
        branch = a.branch;
    }
    TRY(final_layernorm(device, kernels, all, a.last_residual, branch, last));
    TRY(logits_of_rows(device, all, 0, B));
    TRY(cudaMemcpyAsync(a.positions, a.lengths, (size_t)B * sizeof(int), cudaMemcpyDeviceToDevice, device.stream));
    return 0;
}

template <class T> int decode_step(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int B) {
    activations<T> &a = all.work;
    std::vector<lane<T>> one = {{all, {B, 1, true}}};
    TRY(run_blocks(device, kernels, one, false));
    TRY(final_layernorm(device, kernels, all, a.residual, a.branch, one[0].pass));
    TRY(logits_of_rows(device, all, 0, B));
    TRY(advance(device, a.positions, a.tokens, B, all.context));
    return 0;
}

template <class T> int forward_all(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int B, int T_) {
    std::vector<lane<T>> one = {{all, {B, T_, false}}};
    TRY(run_blocks(device, kernels, one, false));
    return final_layernorm(device, kernels, all, all.work.residual, all.work.branch, one[0].pass);
}

#define INSTANTIATE(T)                                                                     \
    template tensors<T> sequences_from(const tensors<T> &, int, int);                      \
    template int prefill(gpt2_device &, const kernel_table &, tensors<T> &, int, int);     \
    template int decode_step(gpt2_device &, const kernel_table &, tensors<T> &, int);      \
    template int forward_all(gpt2_device &, const kernel_table &, tensors<T> &, int, int); \
    template int logits_of_rows(gpt2_device &, tensors<T> &, int, int);
FOR_EACH_TYPE(INSTANTIATE)
