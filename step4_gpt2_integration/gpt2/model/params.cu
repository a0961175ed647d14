// params.cu — lays out the tensors in one allocation and copies the weights (params.cuh)
#include "gpt2/model/params.cuh"

#include "gpt2/model/rows.cuh"

#include <algorithm>
#include <cstdlib>

namespace {
template <class T> void lay_out(tensors<T> &all, arena &from) {
    const gpt2_config &config = all.config;
    const int64_t C = config.channels, B = all.batch, N = B * all.prompt;

    params<T> &w = all.weights;
    w.blocks.resize((size_t)config.layers);
    from.take(w.token_embedding, config.padded_vocabulary * C);
    from.take(w.position_embedding, config.max_tokens * C);
    for (block_weights<T> &block : w.blocks) {
        from.take(block.ln1_weight, C);
        from.take(block.ln1_bias, C);
        from.take(block.qkv_weight, 3 * C * C);
        from.take(block.qkv_bias, 3 * C);
        from.take(block.attention_weight, C * C);
        from.take(block.attention_bias, C);
        from.take(block.ln2_weight, C);
        from.take(block.ln2_bias, C);
        from.take(block.fc_weight, 4 * C * C);
        from.take(block.fc_bias, 4 * C);
        from.take(block.mlp_weight, 4 * C * C);
        from.take(block.mlp_bias, C);
    }
    from.take(w.final_weight, C);
    from.take(w.final_bias, C);
    w.head = w.token_embedding;
    if (config.untied) { from.take(w.head, config.padded_vocabulary * C); }

    activations<T> &a = all.work;
    from.take(a.tokens, N);
    from.take(a.targets, N);
    from.take(a.lengths, B);
    from.take(a.positions, B);
    from.take(a.residual, N * C);
    from.take(a.branch, N * C);
    from.take(a.normalised, N * C);
    from.take(a.qkv, 3 * N * C);
    from.take(a.attention, N * C);
    const bool writes_scores = !all.forms.attention_fused;
    from.take(a.query, writes_scores ? N * C : 0);
    from.take(a.scores, writes_scores              ? (int64_t)all.group * config.heads * all.prompt * all.prompt
                        : all.forms.attention_rows ? rows_scratch<T>(all.prompt, config.heads)
                                                   : 0);
    if (writes_scores) {
        from.take(a.hidden, 4 * N * C);
    } else {
        a.hidden = a.qkv; // the MLP runs after attention, which no longer needs qkv and attention: 4 N C together
    }
    from.take(a.mean, N);
    from.take(a.rstd, N);
    from.take(a.logits, (int64_t)all.logit_rows * config.padded_vocabulary);
    from.take(a.losses, N);
    from.take(a.partial, all.forms.decode_fused ? all.forms.parts * (C / config.heads + 2) : 0);
    from.take(a.arrived, B * config.heads);
    from.take(a.greedy.settings, 2);
    from.take(a.greedy.left, B);
    from.take(a.greedy.count, B);
    from.take(a.greedy.chosen, B * all.context);
    from.take(a.persistent.base, (int64_t)all.forms.persistent_bytes);

    all.cache.resize((size_t)config.layers);
    for (block_cache<T> &cache : all.cache) {
        from.take(cache.k, B * all.context * C);
        from.take(cache.v, B * all.context * C);
    }
}
} // namespace

template <class T> size_t tensors_bytes(tensors<T> &all) {
    constexpr int64_t most_score_bytes = (int64_t)256 << 20;
    const int64_t one = (int64_t)all.config.heads * all.prompt * all.prompt * (int64_t)sizeof(T);
    all.group = (int)std::clamp<int64_t>(most_score_bytes / one, 1, all.batch);
    // A multiple of 128, so that every group of rows begins at a multiple of 256 bytes, as the algorithms of the products expect.
    all.logit_rows = (all.batch + 127) / 128 * 128;
    all.logit_rows = (int)std::min<int64_t>((int64_t)all.batch * all.prompt, all.logit_rows);
    arena count = {nullptr, 0};
    lay_out(all, count);
    all.bytes = count.used;
    return all.bytes;
}

template <class T> int tensors_allocate(tensors<T> &all) {
    tensors_bytes(all);
    TRY(cudaMalloc((void **)&all.memory, all.bytes));
    arena place = {all.memory, 0};
    lay_out(all, place);
    TRY(cudaMemset(all.work.arrived, 0, (size_t)all.batch * (size_t)all.config.heads * sizeof(unsigned)));
    return 0;
}

template <class T> void tensors_free(tensors<T> &all) {
    if (all.memory) { cudaFree(all.memory); }
    all.memory = nullptr;
}

template <class T> T *&place_of(params<T> &w, gpt2_tensor tensor, int layer) {
    block_weights<T> &block = w.blocks[(size_t)layer];
    switch (tensor) {
        case GPT2_WTE: return w.token_embedding;
        case GPT2_WPE: return w.position_embedding;
        case GPT2_LN1W: return block.ln1_weight;
        case GPT2_LN1B: return block.ln1_bias;
        case GPT2_QKVW: return block.qkv_weight;
        case GPT2_QKVB: return block.qkv_bias;
        case GPT2_ATTPROJW: return block.attention_weight;
        case GPT2_ATTPROJB: return block.attention_bias;
        case GPT2_LN2W: return block.ln2_weight;
        case GPT2_LN2B: return block.ln2_bias;
        case GPT2_FCW: return block.fc_weight;
        case GPT2_FCB: return block.fc_bias;
        case GPT2_FCPROJW: return block.mlp_weight;
        case GPT2_FCPROJB: return block.mlp_bias;
        case GPT2_LNFW: return w.final_weight;
        case GPT2_HEAD: return w.head;
        case GPT2_LNFB:
        case GPT2_TENSORS: break;
    }
    return w.final_bias;
}

template <class T> bool tensors_load(tensors<T> &all, const gpt2_source *source, gpt2_error *error) {
    const gpt2_config &config = all.config;
    int64_t largest = 0;
    for (int i = 0; i < GPT2_TENSORS; i++) {
        largest = std::max(largest, gpt2_tensor_elements(&config, (gpt2_tensor)i));
    }
    void *staging = malloc((size_t)largest * sizeof(T));
    if (staging == nullptr) { return gpt2_fail(error, "out of memory for a tensor of the model"); }
    const int64_t padding = (int64_t)(config.padded_vocabulary - config.vocabulary) * config.channels;
    bool good = true;
    int code = 0;
    T *const padded[] = {all.weights.token_embedding, all.weights.head}; // nvcc refuses a list in the for statement
    for (T *matrix : padded) {
        if (code != 0) { break; }
        code = cudaMemset(matrix + (int64_t)config.vocabulary * config.channels, 0, (size_t)padding * sizeof(T));
    }
    for (int i = 0; good && code == 0 && i < GPT2_TENSORS; i++) {
        gpt2_tensor tensor = (gpt2_tensor)i;
        int layers = gpt2_tensor_layers(&config, tensor);
        for (int layer = 0; good && code == 0 && layer < layers; layer++) {
            good = source->read(source->context, tensor, layer, type_of<T>::file, GPT2_OUT_IN, staging, error);
            if (good) {
                code = cudaMemcpy(place_of(all.weights, tensor, layer), staging,
                                  (size_t)gpt2_tensor_elements(&config, tensor) * sizeof(T), cudaMemcpyHostToDevice);
            }
        }
    }
    free(staging);
    char text[128];
    if (code != 0) { device_message(code, text, sizeof text); }
    return code == 0 ? good : gpt2_fail(error, "the weights cannot be copied to the device: %s", text);
}

#define INSTANTIATE(T)                                                           \
    template size_t tensors_bytes(tensors<T> &);                                 \
    template int tensors_allocate(tensors<T> &);                                 \
    template bool tensors_load(tensors<T> &, const gpt2_source *, gpt2_error *); \
    template void tensors_free(tensors<T> &);
FOR_EACH_TYPE(INSTANTIATE)
#define INSTANTIATE_PLACE(T) template T *&place_of(params<T> &, gpt2_tensor, int);
FOR_EACH_TYPE(INSTANTIATE_PLACE)
