// training.cu — a training pass: the memory, forward, losses, and the gradients of the whole model (training.cuh)
//
// Forward    The steps of block.cu (block.cuh has the math). Each block keeps the results that its gradient reads, so a sum, a
//            LayerNorm and a GELU each have memory of their own. Only the branch and the scratch of attention are shared.
// Backward   Each step undoes one of the forward pass, in reverse order. `stream` is the gradient of the residual stream. For a
//            sub-layer y = f(LayerNorm(x)) with out = x + y it becomes dx = dout + LayerNorm'(f'(dout)), which is one kernel,
//            residual_layernorm_backward. matmul.cuh has the gradients of a linear layer.
// Epilogues  With fused attention, GELU and its gradient are in the epilogues of the MLP's products (matmul.cuh). A branch is
//            added to the stream by the LayerNorm: in the epilogue of its product the sum costs as much as it saves.
// Bytes      Forward: those of block.cu, and GELU reads another tensor than it writes. Backward, per block: the weights are read
//            twice, and their fp32 gradients, 4 bytes an element, are read and written; the kept activations are read.
// Operations The backward pass has twice those of the forward pass, because each product has two gradients. With recompute it
//            has three times as many.
// Dropout    A branch is masked in place before it is added, and its gradient, masked, is in the memory of the branch: the
//            stream's gradient is needed without the mask too. Masks are computed again wherever they are needed (dropout.cuh).
// Order      Every sum has a fixed order, so two passes over the same tokens give the same bits.
#include "gpt2/model/training.cuh"

#include "gpt2/model/attention_fused.cuh"
#include "gpt2/model/bias_backward.cuh"
#include "gpt2/model/cross_entropy.cuh"
#include "gpt2/model/embedding.cuh"
#include "gpt2/model/matmul.cuh"

#include <algorithm>

// ---- memory ----

static int64_t flat_elements(const gpt2_config &config, gpt2_tensor tensor) {
    constexpr int64_t multiple = 128;
    int64_t elements = gpt2_tensor_elements(&config, tensor);
    const bool is_padded = tensor == GPT2_WTE || (tensor == GPT2_HEAD && config.untied);
    if (is_padded) { elements = (int64_t)config.padded_vocabulary * config.channels; }
    return (elements + multiple - 1) / multiple * multiple;
}

// Adds to *at the offset of `wanted` among the tensors with that many dimensions; without such a tensor, their total length.
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
        int layers = gpt2_tensor_layers(&config, tensor);
        for (int layer = 0; layer < layers; layer++) {
            place_of(params, tensor, layer) = flat + flat_offset(config, tensor, layer);
        }
    }
    if (!config.untied) { params.head = params.token_embedding; }
}

// The results of a block's forward pass that its backward pass reads, without the input.
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
    const int64_t C = config.channels, B = all.batch, N = B * all.prompt;
    const int64_t count = flat_offset(config, GPT2_TENSORS, 0) + t.padding;
    const bool fused = all.forms.attention_fused;
    const int64_t scores = fused ? 0 : (int64_t)all.group * config.heads * all.prompt * all.prompt;
    const int64_t heads = fused ? 0 : N * C,
                  rows_of_scores = fused ? N * config.heads : 0; // each is needed by one form only

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
    if (t.dropout) { from.take(t.room.dv, heads); }
    from.take(t.room.dscores, scores);
    from.take(t.delta, rows_of_scores);
    from.take(t.partial, bias_most_parts * 4 * C);
    from.take(t.loss, 1);

    point_into(all.weights, config, t.flat_weights);
    point_into(t.gradients, config, t.flat_gradients);
}

template <class T> int training_allocate(training<T> &t) {
    constexpr int64_t score_bytes = (int64_t)256 << 20, logit_bytes = (int64_t)512 << 20; // upper bounds, roughly
    tensors<T> &all = t.all;
    const int64_t N = (int64_t)all.batch * all.prompt, one = (int64_t)all.config.heads * all.prompt * all.prompt;
    all.context = all.prompt;
    const int64_t fit = score_bytes / (one * (int64_t)sizeof(T)), most = most_matmul_batch / all.config.heads;
    all.group = (int)std::clamp<int64_t>(std::min(fit, most), 1, all.batch);
    // A multiple of 128, as in tensors_bytes (params.cu).
    int64_t rows = logit_bytes / (all.config.padded_vocabulary * (int64_t)sizeof(float)) / 128 * 128;
    all.logit_rows = (int)std::min(N, std::max<int64_t>(rows, 128));
    arena count = {nullptr, 0};
    lay_out(t, count);
    all.bytes = count.used;
    TRY(cudaMalloc((void **)&all.memory, all.bytes));
    arena place = {all.memory, 0};
    lay_out(t, place);

    const size_t elements = (size_t)(flat_offset(all.config, GPT2_TENSORS, 0) + t.padding);
    TRY(cudaMemset(t.flat_weights, 0, elements * sizeof(T)));
    return cudaMemset(t.flat_gradients, 0, elements * sizeof(float));
}

template <class T> void training_free(training<T> &t) {
    if (t.all.memory) { cudaFree(t.all.memory); }
    t.all.memory = nullptr;
}

// ---- the forward pass ----

template <class T>
static int attend(gpt2_device &device, const kernel_table &kernels, training<T> &t, const kept<T> &a, const pass &pass,
                  const dropout &drop) {
    const activations<T> &work = t.all.work;
    const int C = t.all.config.channels, H = t.all.config.heads;
    if (t.all.forms.attention_fused) {
        return attention_fused<T>(device, a.attention, nullptr, nullptr, a.lse, a.qkv, work.lengths, pass.B, pass.T, H,
                                  C / H, pass.T, t.all.forms.tensor_cores, drop);
    }
    for (int b = 0; b < pass.B; b += t.all.group) { // as many sequences at once as fit in the scores' memory
        const int64_t rows = (int64_t)b * pass.T * C;
        TRY(attention_taught(device, kernels, a.attention + rows, t.room, a.qkv + 3 * rows, work.lengths + b,
                             std::min(t.all.group, pass.B - b), pass.T, H, C / H, drop,
                             (int64_t)b * H * pass.T * pass.T));
    }
    return 0;
}

// out (N, C) = x (N, C) with one of the masks of the pass; without dropout nothing is done.
template <class T>
static int drop_rows(gpt2_device &device, training<T> &t, T *out, const T *x, dropout_place place, int layer,
                     const pass &pass, const dropout &drop) {
    if (drop.below == 0) { return 0; }
    return dropout_forward(device, out, x, (int64_t)pass.N() * t.all.config.channels, 0,
                           dropout_at(drop, place, layer));
}

// before: the stream before the last branch was added; null: a.residual is the sum already.
template <class T>
static int block(gpt2_device &device, const kernel_table &kernels, training<T> &t, const kept<T> &a, int layer,
                 const T *before, const pass &pass, const dropout &drop) {
    const auto &op = type_of<T>::kernels(kernels);
    const block_weights<T> &w = t.all.weights.blocks[(size_t)layer];
    const int N = pass.N(), C = t.all.config.channels;
    const float eps = t.all.config.epsilon;
    T *branch = t.all.work.branch;

    if (before == nullptr) {
        TRY(op.layernorm_forward(a.normalised, a.mean, a.rstd, a.residual, w.ln1_weight, w.ln1_bias, N, C, eps,
                                 device.stream));
    } else {
        TRY(op.residual_layernorm_forward(a.normalised, a.residual, a.mean, a.rstd, before, branch, w.ln1_weight,
                                          w.ln1_bias, N, C, eps, device.stream));
    }
    TRY(matmul(device, a.qkv, a.normalised, w.qkv_weight, w.qkv_bias, N, C, 3 * C));
    TRY(attend(device, kernels, t, a, pass, dropout_at(drop, DROPOUT_WEIGHTS, layer)));
    TRY(matmul(device, branch, a.attention, w.attention_weight, w.attention_bias, N, C, C));
    TRY(drop_rows(device, t, branch, branch, DROPOUT_ATTENTION, layer, pass, drop));

    TRY(op.residual_layernorm_forward(a.normalised2, a.middle, a.mean2, a.rstd2, a.residual, branch, w.ln2_weight,
                                      w.ln2_bias, N, C, eps, device.stream));
    if (t.all.forms.epilogues) {
        TRY(matmul_gelu_keep(device, a.hidden, a.fc, a.normalised2, w.fc_weight, w.fc_bias, N, C, 4 * C));
    } else { // bias_gelu adds the bias
        TRY(matmul<T>(device, a.fc, a.normalised2, w.fc_weight, nullptr, N, C, 4 * C));
        TRY(op.bias_gelu_forward(a.hidden, a.fc, w.fc_bias, N, 4 * C, device.stream));
    }
    TRY(matmul(device, branch, a.hidden, w.mlp_weight, w.mlp_bias, N, 4 * C, C));
    TRY(drop_rows(device, t, branch, branch, DROPOUT_MLP, layer, pass, drop));
    return mark(device, "block", layer);
}

// From the tokens to end.normalised (N, C). Fills t.blocks.
template <class T>
static int forward(gpt2_device &device, const kernel_table &kernels, training<T> &t, const pass &pass,
                   const dropout &drop) {
    const params<T> &w = t.all.weights;
    const activations<T> &work = t.all.work;
    const int C = t.all.config.channels;
    const T *before = nullptr;
    TRY(embed(device, t.blocks[0].residual, w.token_embedding, w.position_embedding, work.tokens, nullptr, pass.B,
              pass.T, C));
    TRY(drop_rows(device, t, t.blocks[0].residual, t.blocks[0].residual, DROPOUT_EMBEDDING, 0, pass, drop));
    for (int layer = 0; layer < t.all.config.layers; layer++) {
        TRY(block(device, kernels, t, t.blocks[(size_t)layer], layer, before, pass, drop));
        before = t.blocks[(size_t)layer].middle;
    }
    return type_of<T>::kernels(kernels).residual_layernorm_forward(
        t.end.normalised, t.end.residual, t.end.mean, t.end.rstd, before, work.branch, w.final_weight, w.final_bias,
        pass.N(), C, t.all.config.epsilon, device.stream);
}

// A block's forward pass again, from its input alone. The same kernel reads the input and adds a branch of zeros, so all results
// have the bits of the first pass.
template <class T>
static int forward_again(gpt2_device &device, const kernel_table &kernels, training<T> &t, int layer, const pass &pass,
                         const dropout &drop) {
    const kept<T> &a = t.blocks[(size_t)layer];
    const size_t bytes = (size_t)pass.N() * (size_t)t.all.config.channels * sizeof(T);
    TRY(cudaMemsetAsync(t.all.work.branch, 0, bytes, device.stream));
    return block(device, kernels, t, a, layer, layer == 0 ? nullptr : a.residual, pass, drop);
}

// ---- losses and gradients ----

// *total += the sum of x (count), in fp64. One block, so the order of the sum is fixed.
__global__ static void add_up_kernel(double *total, const float *__restrict__ x, int count) {
    constexpr int threads = 256;
    __shared__ double shared[threads];
    double sum = 0.0;
    for (int i = threadIdx.x; i < count; i += threads) { sum += (double)x[i]; }
    shared[threadIdx.x] = sum;
    for (int half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) { shared[threadIdx.x] += shared[threadIdx.x + half]; }
    }
    if (threadIdx.x == 0) { *total += shared[0]; }
}

// The logits (rows, Vp) of rows first..first+rows-1.
template <class T> static int logits(gpt2_device &device, training<T> &t, int first, int rows) {
    const int C = t.all.config.channels, Vp = t.all.config.padded_vocabulary;
    return matmul<float, T>(device, t.all.work.logits, t.end.normalised + (int64_t)first * C, t.all.weights.head,
                            nullptr, rows, C, Vp, Vp);
}

// From `end` through the logits to the losses, and back to `stream`. A few rows of logits are computed at a time.
template <class T>
static int end_backward(gpt2_device &device, const kernel_table &kernels, training<T> &t, float scale, int N) {
    activations<T> &a = t.all.work;
    const gpt2_config &config = t.all.config;
    const int C = config.channels, V = config.vocabulary, Vp = config.padded_vocabulary;
    const int ld = Vp * (int)(sizeof(float) / sizeof(T)); // dlogits overwrite the logits
    const T *dlogits = (const T *)a.logits;
    for (int first = 0; first < N; first += t.all.logit_rows) {
        const int rows = std::min(t.all.logit_rows, N - first);
        const int64_t at = (int64_t)first * C;
        TRY(logits(device, t, first, rows));
        TRY(cross_entropy_backward<T>(device, a.losses + first, a.logits, a.targets + first, scale, rows, V, Vp));
        TRY(matmul_dx(device, t.dnormalised + at, dlogits, t.all.weights.head, rows, C, Vp, ld));
        TRY(matmul_dweight(device, t.gradients.head, dlogits, t.end.normalised + at, rows, C, Vp, ld,
                           !t.replaces || first > 0));
    }
    return type_of<T>::kernels(kernels).layernorm_backward(t.stream, t.gradients.final_weight, t.gradients.final_bias,
                                                           t.dnormalised, t.end.residual, t.all.weights.final_weight,
                                                           t.end.mean, t.end.rstd, N, C, device.stream);
}

// dx (N, C) from dout (N, OC), and the gradients of both parameters. dbias: null where another kernel computes it. before: x is
// GELU of it, and dx its gradient.
template <class T>
static int linear_backward(gpt2_device &device, training<T> &t, T *dx, float *dweight, float *dbias, const T *dout,
                           const T *x, const T *weight, int N, int C, int OC, const T *before = nullptr) {
    if (dbias != nullptr) { TRY(bias_backward(device, dbias, t.partial, dout, N, OC)); }
    TRY(matmul_dweight(device, dweight, dout, x, N, C, OC, OC, !t.replaces));
    return before != nullptr ? matmul_dx_gelu(device, dx, before, dout, weight, N, C, OC)
                             : matmul_dx(device, dx, dout, weight, N, C, OC, OC);
}

// Computes dqkv in dwide. The gradient of the attention's output is in dnormalised.
template <class T>
static int attend_backward(gpt2_device &device, const kernel_table &kernels, training<T> &t, const kept<T> &a,
                           const pass &pass, const dropout &drop) {
    const int C = t.all.config.channels, H = t.all.config.heads;
    if (t.all.forms.attention_fused) {
        return attention_fused_backward(device, t.dwide, t.delta, t.dnormalised, a.attention, a.qkv, a.lse, pass.B,
                                        pass.T, H, C / H, drop);
    }
    for (int b = 0; b < pass.B; b += t.all.group) {
        const int64_t rows = (int64_t)b * pass.T * C;
        TRY(attention_backward(device, kernels, t.dwide + 3 * rows, t.room, t.dnormalised + rows, a.qkv + 3 * rows,
                               t.all.work.lengths + b, std::min(t.all.group, pass.B - b), pass.T, H, C / H, drop,
                               (int64_t)b * H * pass.T * pass.T));
    }
    return 0;
}

template <class T>
static int block_backward(gpt2_device &device, const kernel_table &kernels, training<T> &t, int layer, const pass &pass,
                          const dropout &drop) {
    const auto &op = type_of<T>::kernels(kernels);
    const block_weights<T> &w = t.all.weights.blocks[(size_t)layer];
    const block_weights<float> &g = t.gradients.blocks[(size_t)layer];
    const kept<T> &a = t.blocks[(size_t)layer];
    const int N = pass.N(), C = t.all.config.channels;
    T *branch = drop.below > 0 ? t.all.work.branch : t.stream; // the gradient of a branch

    TRY(drop_rows(device, t, branch, t.stream, DROPOUT_MLP, layer, pass, drop));
    const bool epilogue = t.all.forms.epilogues;
    const T *const nothing = nullptr;
    TRY(linear_backward(device, t, t.dwide, g.mlp_weight, g.mlp_bias, branch, a.hidden, w.mlp_weight, N, 4 * C, C,
                        epilogue ? a.fc : nothing));
    if (!epilogue) {
        TRY(op.bias_gelu_backward(t.dwide, g.fc_bias, t.dwide, a.fc, w.fc_bias, N, 4 * C, device.stream));
    }
    TRY(linear_backward(device, t, t.dnormalised, g.fc_weight, epilogue ? g.fc_bias : nullptr, t.dwide, a.normalised2,
                        w.fc_weight, N, C, 4 * C));
    TRY(op.residual_layernorm_backward(t.stream, g.ln2_weight, g.ln2_bias, t.dnormalised, t.stream, a.middle,
                                       w.ln2_weight, a.mean2, a.rstd2, N, C, device.stream));
    TRY(mark(device, "mlp backward", layer));

    TRY(drop_rows(device, t, branch, t.stream, DROPOUT_ATTENTION, layer, pass, drop));
    TRY(linear_backward(device, t, t.dnormalised, g.attention_weight, g.attention_bias, branch, a.attention,
                        w.attention_weight, N, C, C));
    TRY(attend_backward(device, kernels, t, a, pass, dropout_at(drop, DROPOUT_WEIGHTS, layer)));
    TRY(linear_backward(device, t, t.dnormalised, g.qkv_weight, g.qkv_bias, t.dwide, a.normalised, w.qkv_weight, N, C,
                        3 * C));
    TRY(op.residual_layernorm_backward(t.stream, g.ln1_weight, g.ln1_bias, t.dnormalised, t.stream, a.residual,
                                       w.ln1_weight, a.mean, a.rstd, N, C, device.stream));
    return mark(device, "attention backward", layer);
}

template <class T> static int add_losses(gpt2_device &device, training<T> &t, int N) {
    add_up_kernel<<<1, 256, 0, device.stream>>>(t.loss, t.all.work.losses, N);
    return cudaGetLastError();
}

// Before a pass that replaces the gradients: those that are sums of several kernels' become zeros. Each of the others is the
// result of one product, which then overwrites it.
template <class T> static int clear_sums(gpt2_device &device, training<T> &t) {
    const gpt2_config &config = t.all.config;
    const int64_t matrices = flat_matrices(config), all = flat_offset(config, GPT2_TENSORS, 0);
    const auto clear = [&](float *from, int64_t count) {
        return cudaMemsetAsync(from, 0, (size_t)count * sizeof *from, device.stream);
    };
    TRY(clear(t.gradients.position_embedding, flat_elements(config, GPT2_WPE)));
    if (config.untied) { TRY(clear(t.gradients.token_embedding, flat_elements(config, GPT2_WTE))); }
    return clear(t.flat_gradients + matrices, all - matrices);
}

static int upload(gpt2_device &device, int *to, const std::vector<int> &from) {
    return cudaMemcpyAsync(to, from.data(), from.size() * sizeof(int), cudaMemcpyHostToDevice, device.stream);
}

template <class T>
int training_gradients(gpt2_device &device, const kernel_table &kernels, training<T> &t, float scale,
                       const int32_t *tokens, int B, int T_, const dropout &drop, const gradient_listener *listener) {
    const pass pass = {B, T_, false};
    const int last = t.all.config.layers - 1, C = t.all.config.channels;
    TRY(forward(device, kernels, t, pass, drop));
    if (t.replaces) { TRY(clear_sums(device, t)); }
    TRY(end_backward(device, kernels, t, scale, pass.N()));
    TRY(add_losses(device, t, pass.N()));
    for (int layer = last; layer >= 0; layer--) {
        if (t.recompute && layer < last) { TRY(forward_again(device, kernels, t, layer, pass, drop)); }
        TRY(block_backward(device, kernels, t, layer, pass, drop));
        if (listener != nullptr) { TRY(listener->ready(listener->context, layer)); }
    }
    TRY(drop_rows(device, t, t.stream, t.stream, DROPOUT_EMBEDDING, 0, pass, drop));
    const token_runs runs = token_runs_of(tokens, pass.N(), t.all.config.vocabulary);
    TRY(upload(device, t.order, runs.order));
    TRY(upload(device, t.starts, runs.starts));
    TRY(embed_backward(device, t.gradients.token_embedding, t.gradients.position_embedding, t.stream, t.all.work.tokens,
                       t.order, t.starts, (int)runs.starts.size() - 1, B, T_, C));
    t.replaces = false;
    return listener != nullptr ? listener->ready(listener->context, -1) : 0;
}

template <class T>
int training_losses(gpt2_device &device, const kernel_table &kernels, training<T> &t, int B, int T_) {
    activations<T> &a = t.all.work;
    const int N = B * T_, V = t.all.config.vocabulary, Vp = t.all.config.padded_vocabulary;
    TRY(forward(device, kernels, t, {B, T_, false}, {}));
    for (int first = 0; first < N; first += t.all.logit_rows) {
        const int rows = std::min(t.all.logit_rows, N - first);
        TRY(logits(device, t, first, rows));
        TRY(cross_entropy(device, a.losses + first, a.logits, a.targets + first, rows, V, Vp));
    }
    return add_losses(device, t, N);
}

#define INSTANTIATE(T)                                                                                               \
    template int training_allocate(training<T> &);                                                                   \
    template void training_free(training<T> &);                                                                      \
    template int training_gradients(gpt2_device &, const kernel_table &, training<T> &, float, const int32_t *, int, \
                                    int, const dropout &, const gradient_listener *);                                \
    template int training_losses(gpt2_device &, const kernel_table &, training<T> &, int, int);
FOR_EACH_TYPE(INSTANTIATE)
