// decode_fused.cu — a decoding step with few launches: weights streamed past the rows, LayerNorm and GELU fused (block_fused.cuh)
//
// Purpose   A step of a batch of one reads 247 MB of weights for 124M in bf16, 52 us on an H200 (4.8 TB/s). The taught step has 100
//           launches. Each begins when the one before has ended on every multiprocessor, which leaves the memory idle for about
//           2 us. Here there are fewer kernels, and each prefetches its weights before the kernel before it has ended.
// Launches  62 for 12 blocks: the token's embedding (with the choice of the token when greedy), 5 a block, the logits
//             qkv        = LayerNorm1(residual) W + b         gemv
//             attention  = softmax(q K^T) V                   decode_split, which also writes the cache
//             residual  += attention W + b                    gemv
//             hidden     = gelu(LayerNorm2(residual) W + b)   gemv
//             residual  += hidden W + b                       gemv
//             logits     = LayerNorm(residual) head^T         gemv, which also advances the positions
//           The taught step has 8 a block, and 4 more.
// Expected  The bytes: 52 us. 62 launches, with programmatic launches in a graph about 1.5 us each between the last byte of one and
//           the first result of the next: 93 us. The choice of the token: 4 us. The keys at position 1000, 37 MB: 8 us. Together
//           about 160 us. Measured on an H200: 272 us, 302 at position 1000. docs/decode.md explains the difference.
#include "gpt2/model/block_fused.cuh"

#include "gpt2/model/decode_split.cuh"
#include "gpt2/model/gemv.cuh"

// The products of a step.
template <class T> struct step_tasks {
    gemv_task<T, T> qkv, projection, fc, mlp;
    gemv_task<float, T> logits;
};

template <class T> static step_tasks<T> tasks_of(const tensors<T> &all, int layer, int B) {
    const activations<T> &a = all.work;
    const params<T> &w = all.weights;
    const block_weights<T> &block = w.blocks[(size_t)layer];
    const int C = all.config.channels, V = all.config.vocabulary, Vp = all.config.padded_vocabulary;
    const float epsilon = all.config.epsilon;
    step_tasks<T> tasks = {};
    // clang-format off
    //                  out         x            weight                  bias                  N  C      OC     ld
    tasks.qkv        = {a.qkv,      a.residual,  block.qkv_weight,       block.qkv_bias,       B, C,     3 * C, 3 * C};
    tasks.projection = {a.residual, a.attention, block.attention_weight, block.attention_bias, B, C,     C,     C};
    tasks.fc         = {a.hidden,   a.residual,  block.fc_weight,        block.fc_bias,        B, C,     4 * C, 4 * C};
    tasks.mlp        = {a.residual, a.hidden,    block.mlp_weight,       block.mlp_bias,       B, 4 * C, C,     C};
    tasks.logits     = {a.logits,   a.residual,  w.head,                 nullptr,              B, C,     V,     Vp};
    // clang-format on
    tasks.qkv.layernorm_weight = block.ln1_weight, tasks.qkv.layernorm_bias = block.ln1_bias;
    tasks.fc.layernorm_weight = block.ln2_weight, tasks.fc.layernorm_bias = block.ln2_bias;
    tasks.logits.layernorm_weight = w.final_weight, tasks.logits.layernorm_bias = w.final_bias;
    tasks.qkv.epsilon = tasks.fc.epsilon = tasks.logits.epsilon = epsilon;
    tasks.fc.activated = true, tasks.fc.activation = all.config.activation;
    tasks.projection.residual = tasks.mlp.residual = a.residual;
    tasks.logits.positions = a.positions, tasks.logits.tokens = a.tokens, tasks.logits.S = all.context;
    return tasks;
}

template <class T> bool decode_step_takes(const tensors<T> &all, int B) {
    const step_tasks<T> tasks = tasks_of(all, 0, B);
    return all.forms.decode_fused && B <= all.forms.decode_rows && gemv_takes(tasks.qkv) &&
           gemv_takes(tasks.projection) && gemv_takes(tasks.fc) && gemv_takes(tasks.mlp) && gemv_takes(tasks.logits);
}

template <class T> int attend_split(gpt2_device &device, tensors<T> &all, int layer, int B) {
    activations<T> &a = all.work;
    block_cache<T> &cache = all.cache[(size_t)layer];
    const int H = all.config.heads, D = all.config.channels / H, S = all.context;
    return decode_split(device, a.attention, cache.k, cache.v, a.qkv, a.positions, a.partial, a.arrived, B, H, D, S,
                        decode_splits(B, H, S, device.multiprocessors));
}

template <class T> int decode_step_fused(gpt2_device &device, tensors<T> &all, int B, bool greedy) {
    activations<T> &a = all.work;
    const int C = all.config.channels, L = all.config.layers;
    TRY(begin_step(device, a.residual, a.tokens, greedy ? &a.greedy : nullptr, a.logits, all.weights.token_embedding,
                   all.weights.position_embedding, a.positions, B, C, all.config.padded_vocabulary, all.context));
    TRY(mark(device, "embedding", -1));
    for (int layer = 0; layer < L; layer++) {
        const step_tasks<T> tasks = tasks_of(all, layer, B);
        TRY(gemv(device, tasks.qkv));
        TRY(mark(device, "qkv", layer));
        TRY(attend_split(device, all, layer, B));
        TRY(mark(device, "attention", layer));
        TRY(gemv(device, tasks.projection));
        TRY(mark(device, "attention projection", layer));
        TRY(gemv(device, tasks.fc));
        TRY(mark(device, "gelu", layer));
        TRY(gemv(device, tasks.mlp));
        TRY(mark(device, "mlp projection", layer));
    }
    TRY(gemv(device, tasks_of(all, 0, B).logits));
    return mark(device, "logits", L);
}

#define INSTANTIATE(T)                                                      \
    template bool decode_step_takes(const tensors<T> &, int);               \
    template int decode_step_fused(gpt2_device &, tensors<T> &, int, bool); \
    template int attend_split(gpt2_device &, tensors<T> &, int, int);
FOR_EACH_TYPE(INSTANTIATE)
