// training.cu — the memory of training (training.cuh)
#include "gpt2/model/training.cuh"

#include "gpt2/model/arena.cuh"
#include "gpt2/model/bias_backward.cuh"
#include "gpt2/model/matmul.cuh"

#include <algorithm>

static int64_t flat_elements(const gpt2_config &config, gpt2_tensor tensor) {
    constexpr int64_t multiple = 128;
    int64_t elements = gpt2_tensor_elements(&config, tensor);
    if (tensor == GPT2_WTE) { elements = (int64_t)config.padded_vocabulary * config.channels; }
    return (elements + multiple - 1) / multiple * multiple;
}

// Where `wanted` begins among the tensors with that many dimensions; or their length.
static bool walk(const gpt2_config &config, int dimensions, gpt2_tensor wanted, int layer, int64_t *at) {
    for (int l = 0; l < config.layers; l++) {
        for (int i = 0; i < GPT2_TENSORS; i++) {
            gpt2_tensor tensor = (gpt2_tensor)i;
            if (gpt2_tensor_dimensions(tensor) != dimensions) { continue; }
            if (l > 0 && !gpt2_tensor_is_layered(tensor)) { continue; }
            if (tensor == wanted && l == layer) { return true; }
            *at += flat_elements(config, tensor);
        }
    }
    return false;
}

int64_t flat_offset(const gpt2_config &config, gpt2_tensor tensor, int layer) {
    int64_t at = 0;
    if (!walk(config, 2, tensor, layer, &at)) { walk(config, 1, tensor, layer, &at); }
    return at;
}

int64_t flat_matrices(const gpt2_config &config) {
    int64_t at = 0;
    walk(config, 2, GPT2_TENSORS, 0, &at);
    return at;
}

template <class P> static void point_into(params<P> &params, const gpt2_config &config, P *flat) {
    params.blocks.resize((size_t)config.layers);
    for (int i = 0; i < GPT2_TENSORS; i++) {
        gpt2_tensor tensor = (gpt2_tensor)i;
        int layers = gpt2_tensor_is_layered(tensor) ? config.layers : 1;
        for (int layer = 0; layer < layers; layer++) {
            place_of(params, tensor, layer) = flat + flat_offset(config, tensor, layer);
        }
    }
}

// What a block's backward pass needs of its forward pass, but not its input.
template <class T> static void take_block(kept<T> &a, arena &from, int64_t N, int64_t C, int64_t rows_of_scores) {
    from.take(a.middle, N * C);
    from.take(a.normalised, N * C);
    from.take(a.normalised2, N * C);
    from.take(a.qkv, 3 * N * C);
    from.take(a.attention, N * C);
    from.take(a.fc, 4 * N * C);
    from.take(a.hidden, 4 * N * C);
    from.take(a.mean, N), from.take(a.rstd, N);
    from.take(a.mean2, N), from.take(a.rstd2, N);
    from.take(a.lse, rows_of_scores);
}

template <class T> static void lay_out(training<T> &t, arena &from) {
    tensors<T> &all = t.all;
    activations<T> &a = all.work;
    const gpt2_config &config = all.config;
    const int64_t C = config.channels, B = all.batch, N = B * all.prompt, count = flat_offset(config, GPT2_TENSORS, 0);
    const bool fused = all.forms.attention_fused;
    const int64_t scores = fused ? 0 : (int64_t)all.group * config.heads * all.prompt * all.prompt;
    const int64_t heads = fused ? 0 : N * C, rows_of_scores = fused ? N * config.heads : 0; // what the other form needs

    from.take(t.flat_weights, count);
    from.take(t.flat_gradients, count);
    from.take(a.tokens, N), from.take(a.targets, N), from.take(a.lengths, B);
    from.take(t.order, N), from.take(t.starts, N + 1);
    from.take(a.branch, N * C);
    from.take(a.query, heads);
    from.take(a.scores, scores);
    from.take(a.logits, (int64_t)all.logit_rows * config.padded_vocabulary);
    from.take(a.losses, N);

    kept<T> shared = {};
    if (t.recompute) { take_block(shared, from, N, C, rows_of_scores); }
    t.blocks.assign((size_t)config.layers, shared);
    for (kept<T> &block : t.blocks) {
        from.take(block.residual, N * C);
        if (!t.recompute) { take_block(block, from, N, C, rows_of_scores); }
    }
    from.take(t.end.residual, N * C);
    from.take(t.end.normalised, N * C);
    from.take(t.end.mean, N), from.take(t.end.rstd, N);

    from.take(t.stream, N * C);
    from.take(t.dnormalised, N * C);
    from.take(t.dwide, 4 * N * C);
    t.room.query = a.query, t.room.scores = a.scores;
    from.take(t.room.k, heads), from.take(t.room.v, heads);
    from.take(t.room.dout, heads);
    from.take(t.room.dscores, scores);
    from.take(t.delta, rows_of_scores);
    from.take(t.partial, bias_most_parts * 4 * C);
    from.take(t.loss, 1);

    point_into(all.weights, config, t.flat_weights);
    point_into(t.gradients, config, t.flat_gradients);
}

template <class T> int training_allocate(training<T> &t) {
    constexpr int64_t score_bytes = (int64_t)256 << 20, logit_bytes = (int64_t)512 << 20; // about the most
    tensors<T> &all = t.all;
    const int64_t N = (int64_t)all.batch * all.prompt, one = (int64_t)all.config.heads * all.prompt * all.prompt;
    all.context = all.prompt;
    const int64_t fit = score_bytes / (one * (int64_t)sizeof(T)), most = most_matmul_batch / all.config.heads;
    all.group = (int)std::clamp<int64_t>(std::min(fit, most), 1, all.batch);
    // A multiple of 128, as in tensors_allocate.
    int64_t rows = logit_bytes / (all.config.padded_vocabulary * (int64_t)sizeof(float)) / 128 * 128;
    all.logit_rows = (int)std::min(N, std::max<int64_t>(rows, 128));
    arena count = {nullptr, 0};
    lay_out(t, count);
    all.bytes = count.used;
    TRY(cudaMalloc((void **)&all.memory, all.bytes));
    arena place = {all.memory, 0};
    lay_out(t, place);

    const size_t elements = (size_t)flat_offset(all.config, GPT2_TENSORS, 0);
    TRY(cudaMemset(t.flat_weights, 0, elements * sizeof(T)));
    return cudaMemset(t.flat_gradients, 0, elements * sizeof(float));
}

template <class T> void training_free(training<T> &t) {
    if (t.all.memory) { cudaFree(t.all.memory); }
    t.all.memory = nullptr;
}

#define INSTANTIATE(T)                             \
    template int training_allocate(training<T> &); \
    template void training_free(training<T> &);
FOR_EACH_TYPE(INSTANTIATE)
