// decode_fused.cu — a decoding step with few launches: weights streamed past the rows, LayerNorm and GELU fused
// (block_fused.cuh)
//
// Purpose   A step of a batch of one reads 247 MB of weights for 124M in bf16, 52 us on an H200 (4.8 TB/s). The taught step has
//           100 launches. Each begins when the one before has ended on every multiprocessor, which leaves the memory idle for
//           about 2 us. Here there are fewer kernels, and each prefetches its weights before the kernel before it has ended.
// Launches  62 for 12 blocks: the token's embedding (with the choice of the token if that is the device's), 5 a block, the logits
//             qkv        = LayerNorm1(residual) W + b         gemv
//             attention  = softmax(q K^T) V                   decode_split, which also writes the cache
//             residual  += attention W + b                    gemv
//             hidden     = gelu(LayerNorm2(residual) W + b)   gemv
//             residual  += hidden W + b                       gemv
//             logits     = LayerNorm(residual) head^T         gemv, which also advances the positions
//           The taught step has 8 a block, and 4 more. In a divided model a sum over the ranks follows each of the two products
//           that add to the residual.
// Expected  The bytes: 52 us. 62 launches, with programmatic launches in a graph about 1.5 us each between the last byte of one
//           and the first result of the next: 93 us. The choice of the token: 4 us. The keys at position 1000, 37 MB: 8 us.
//           Together about 160 us. Measured on an H200: 241 us, 265 at position 1000. docs/decode.md explains the difference.
#include "gpt2/model/block_fused.cuh"

#include "gpt2/model/decode_split.cuh"
#include "gpt2/model/gemv.cuh"

#include <type_traits>

// The products of a step. W: T, or the codes of weights in 8 bits.
template <class T, class W> struct step_tasks {
    gemv_task<T, T, W> qkv, projection, fc, mlp;
    gemv_task<float, T, W> logits;
};

template <class T, class W> static const W *weight_of(const T *plain, const code_matrix &coded) {
    if constexpr (std::is_same_v<T, W>) {
        return plain;
    } else {
        return (const W *)coded.codes;
    }
}

template <class T, class W> static step_tasks<T, W> tasks_of(const tensors<T> &all, int layer, int B) {
    const activations<T> &a = all.work;
    const params<T> &w = all.weights;
    const block_weights<T> &block = w.blocks[(size_t)layer];
    const block_codes coded = all.scheme != GPT2_PLAIN ? w.codes[(size_t)layer] : block_codes{};
    const W *const qkv = weight_of<T, W>(block.qkv_weight, coded.qkv);
    const W *const attention = weight_of<T, W>(block.attention_weight, coded.attention);
    const W *const fc = weight_of<T, W>(block.fc_weight, coded.fc), *const mlp =
                                                                        weight_of<T, W>(block.mlp_weight, coded.mlp);
    const W *const head = weight_of<T, W>(w.head, w.head_codes);
    const int C = all.config.channels, width = all.width(), V = all.config.vocabulary,
              Vp = all.config.padded_vocabulary;
    const float epsilon = all.config.epsilon;
    step_tasks<T, W> tasks = {};
    // clang-format off
    //                  out         x            weight     bias                  N  C          OC         ld         scales
    tasks.qkv        = {a.qkv,      a.residual,  qkv,       block.qkv_bias,       B, C,         3 * width, 3 * width, coded.qkv.scales};
    tasks.projection = {a.residual, a.attention, attention, block.attention_bias, B, width,     C,         C,         coded.attention.scales};
    tasks.fc         = {a.hidden,   a.residual,  fc,        block.fc_bias,        B, C,         4 * width, 4 * width, coded.fc.scales};
    tasks.mlp        = {a.residual, a.hidden,    mlp,       block.mlp_bias,       B, 4 * width, C,         C,         coded.mlp.scales};
    tasks.logits     = {a.logits,   a.residual,  head,      nullptr,              B, C,         V,         Vp,        w.head_codes.scales};
    // clang-format on
    tasks.qkv.layernorm_weight = block.ln1_weight, tasks.qkv.layernorm_bias = block.ln1_bias;
    tasks.fc.layernorm_weight = block.ln2_weight, tasks.fc.layernorm_bias = block.ln2_bias;
    tasks.logits.layernorm_weight = w.final_weight, tasks.logits.layernorm_bias = w.final_bias;
    tasks.qkv.epsilon = tasks.fc.epsilon = tasks.logits.epsilon = epsilon;
    tasks.fc.activated = true, tasks.fc.activation = all.config.activation;
    tasks.projection.residual = tasks.mlp.residual =
        all.rank() == 0 ? a.residual : nullptr; // the ranks' sum has it once
    tasks.logits.positions = a.positions, tasks.logits.tokens = a.tokens, tasks.logits.S = all.context;
    return tasks;
}

template <class T, class W> static bool step_takes(const tensors<T> &all, int B) {
    const step_tasks<T, W> tasks = tasks_of<T, W>(all, 0, B);
    return gemv_takes(tasks.qkv) && gemv_takes(tasks.projection) && gemv_takes(tasks.fc) && gemv_takes(tasks.mlp) &&
           gemv_takes(tasks.logits);
}

template <class T> bool decode_step_takes(const tensors<T> &all, int B) {
    return all.forms.decode_fused && B <= all.forms.most_rows &&
           (all.scheme == GPT2_PLAIN  ? step_takes<T, T>(all, B)
            : all.scheme == GPT2_INT8 ? step_takes<T, int8_code>(all, B)
                                      : step_takes<T, e4m3_code>(all, B));
}

template <class T> int attend_split(gpt2_device &device, tensors<T> &all, int layer, int B) {
    activations<T> &a = all.work;
    block_cache<T> &cache = all.cache[(size_t)layer];
    const int H = all.heads(), D = all.width() / H, S = all.context;
    return decode_split(device, a.attention, cache.k, cache.v, a.qkv, a.positions, a.partial, a.arrived, B, H, D, S,
                        decode_splits(B, H, S, device.multiprocessors));
}

template <class T, class W> static int step_fused(gpt2_device &device, tensors<T> &all, int B, bool chooses) {
    activations<T> &a = all.work;
    const int C = all.config.channels, L = all.config.layers;
    TRY(begin_step(device, a.residual, a.tokens, chooses ? &a.choice : nullptr, a.logits, token_table(all),
                   all.weights.position_embedding, a.positions, B, C, all.config.vocabulary,
                   all.config.padded_vocabulary, all.context));
    TRY(mark(device, "embedding", -1));
    for (int layer = 0; layer < L; layer++) {
        const step_tasks<T, W> tasks = tasks_of<T, W>(all, layer, B);
        TRY(gemv(device, tasks.qkv));
        TRY(mark(device, "qkv", layer));
        TRY(attend_split(device, all, layer, B));
        TRY(mark(device, "attention", layer));
        TRY(gemv(device, tasks.projection));
        TRY(begin_sum(device, all, a.residual, (int64_t)B * C)); // in this stream
        TRY(mark(device, "attention projection", layer));
        TRY(gemv(device, tasks.fc));
        TRY(mark(device, "gelu", layer));
        TRY(gemv(device, tasks.mlp));
        TRY(begin_sum(device, all, a.residual, (int64_t)B * C)); // in this stream
        TRY(mark(device, "mlp projection", layer));
    }
    TRY(gemv(device, tasks_of<T, W>(all, 0, B).logits));
    return mark(device, "logits", L);
}

template <class T> int decode_step_fused(gpt2_device &device, tensors<T> &all, int B, bool chooses) {
    switch (all.scheme) {
        case GPT2_PLAIN: return step_fused<T, T>(device, all, B, chooses);
        case GPT2_INT8: return step_fused<T, int8_code>(device, all, B, chooses);
        case GPT2_FP8: break;
    }
    return step_fused<T, e4m3_code>(device, all, B, chooses);
}

#define INSTANTIATE(T)                                                      \
    template bool decode_step_takes(const tensors<T> &, int);               \
    template int decode_step_fused(gpt2_device &, tensors<T> &, int, bool); \
    template int attend_split(gpt2_device &, tensors<T> &, int, int);
FOR_EACH_TYPE(INSTANTIATE)
