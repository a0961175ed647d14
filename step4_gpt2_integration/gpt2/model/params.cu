// params.cu — lays out the tensors in one allocation and copies the weights (params.cuh)
#include "gpt2/model/params.cuh"

#include "gpt2/formats/codes.h"
#include "gpt2/model/rows.cuh"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace {
void take_codes(code_matrix &matrix, int64_t rows, int64_t columns, bool has_input, arena &from) {
    from.take(matrix.codes, rows * columns);
    from.take(matrix.scales, rows);
    if (has_input) { from.take(matrix.input, 1); }
}

// The four matrices of a block, at offsets that are multiples of the largest alignment if WC elements are.
template <class T> void place_expanded(block_weights<T> &block, T *expanded, int64_t WC) {
    block.qkv_weight = expanded;
    block.attention_weight = expanded != nullptr ? expanded + 3 * WC : nullptr;
    block.fc_weight = expanded != nullptr ? expanded + 4 * WC : nullptr;
    block.mlp_weight = expanded != nullptr ? expanded + 8 * WC : nullptr;
}

template <class T> void lay_out(tensors<T> &all, arena &from) {
    const gpt2_config &config = all.config;
    const int64_t C = config.channels, W = all.width(), H = all.heads(), B = all.batch;
    const int64_t rows = std::max<int64_t>((int64_t)all.together * all.prompt, B);
    const int64_t N = all.coded_inputs ? padded_codes(rows) : rows;

    params<T> &w = all.weights;
    const bool coded = all.scheme != GPT2_PLAIN;
    w.blocks.resize((size_t)config.layers);
    w.codes.resize(coded ? (size_t)config.layers : 0);
    if (!coded || config.untied) { from.take(w.token_embedding, config.padded_vocabulary * C); }
    if (coded) {
        take_codes(w.head_codes, config.padded_vocabulary, C, false, from);
        from.take(w.expanded, 12 * C * C);
    }
    from.take(w.position_embedding, config.max_tokens * C);
    for (int layer = 0; layer < config.layers; layer++) {
        block_weights<T> &block = w.blocks[(size_t)layer];
        if (coded) {
            block_codes &codes = w.codes[(size_t)layer];
            take_codes(codes.qkv, 3 * W, C, all.coded_inputs, from);
            take_codes(codes.attention, C, W, all.coded_inputs, from);
            take_codes(codes.fc, 4 * W, C, all.coded_inputs, from);
            take_codes(codes.mlp, C, 4 * W, all.coded_inputs, from);
            place_expanded(block, w.expanded, W * C);
        } else {
            from.take(block.qkv_weight, 3 * W * C);
            from.take(block.attention_weight, C * W);
            from.take(block.fc_weight, 4 * W * C);
            from.take(block.mlp_weight, C * 4 * W);
        }
        from.take(block.ln1_weight, C);
        from.take(block.ln1_bias, C);
        from.take(block.qkv_bias, 3 * W);
        from.take(block.attention_bias, C);
        from.take(block.ln2_weight, C);
        from.take(block.ln2_bias, C);
        from.take(block.fc_bias, 4 * W);
        from.take(block.mlp_bias, C);
    }
    from.take(w.final_weight, C);
    from.take(w.final_bias, C);
    w.head = coded ? nullptr : w.token_embedding;
    if (config.untied && !coded) { from.take(w.head, config.padded_vocabulary * C); }

    activations<T> &a = all.work;
    from.take(a.tokens, B * all.prompt);
    from.take(a.targets, B * all.prompt);
    from.take(a.lengths, B);
    from.take(a.positions, B);
    from.take(a.residual, N * C);
    from.take(a.branch, N * C);
    from.take(a.normalised, N * C);
    from.take(a.qkv, 3 * N * W);
    from.take(a.attention, N * W);
    const bool writes_scores = !all.forms.attention_fused;
    from.take(a.query, writes_scores ? N * W : 0);
    from.take(a.scores, writes_scores              ? all.group * H * all.prompt * all.prompt
                        : all.forms.attention_rows ? rows_scratch<T>(all.prompt, (int)H)
                                                   : 0);
    if (writes_scores) {
        from.take(a.hidden, 4 * N * W);
    } else {
        a.hidden = a.qkv; // the MLP runs after attention, which no longer needs qkv and attention: 4 N W together
    }
    from.take(a.codes.codes, all.coded_inputs ? 4 * N * C : 0);
    from.take(a.codes.sums, all.coded_inputs && all.scheme == GPT2_INT8 ? 4 * N * C : 0);
    from.take(a.mean, N);
    from.take(a.rstd, N);
    from.take(a.logits, (int64_t)all.logit_rows * config.padded_vocabulary);
    from.take(a.losses, B * all.prompt);
    from.take(a.last_residual, B * C);
    from.take(a.last_result, B * C);
    from.take(a.partial, all.forms.decode_fused  ? (int64_t)all.forms.parts * (C / config.heads + 2)
                         : all.forms.decode_rows ? B * H * padded_row(all.context)
                                                 : 0);
    from.take(a.arrived, B * H);
    from.take(a.choice.settings, 1);
    from.take(a.choice.left, B);
    from.take(a.choice.count, B);
    from.take(a.choice.chosen, B * all.context);
    from.take(a.choice.random, B);
    from.take(a.choice.seen, B * config.vocabulary);
    from.take(a.persistent.base, (int64_t)all.forms.persistent_bytes);

    all.cache.resize((size_t)config.layers);
    for (block_cache<T> &cache : all.cache) {
        from.take(cache.k, B * all.context * W);
        from.take(cache.v, B * all.context * W);
    }
}
} // namespace

template <class T> size_t tensors_bytes(tensors<T> &all) {
    constexpr int64_t most_score_bytes = (int64_t)256 << 20;
    const int64_t one = (int64_t)all.heads() * all.prompt * all.prompt * (int64_t)sizeof(T);
    all.together = all.forms.together > 0 ? std::min(all.forms.together, all.batch) : all.batch;
    all.group = (int)std::clamp<int64_t>(most_score_bytes / one, 1, all.together);
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
    TRY(cudaMemset(all.work.arrived, 0, (size_t)all.batch * (size_t)all.heads() * sizeof(unsigned)));
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

template <class T> int expand_block(gpt2_device &device, tensors<T> &all, int layer) {
    if (all.scheme == GPT2_PLAIN) { return 0; }
    const block_weights<T> &block = all.weights.blocks[(size_t)layer];
    const block_codes &codes = all.weights.codes[(size_t)layer];
    const int64_t C = all.config.channels, W = all.width();
    TRY(expand(device, block.qkv_weight, codes.qkv, all.scheme, 0, 3 * W, C));
    TRY(expand(device, block.attention_weight, codes.attention, all.scheme, 0, C, W));
    TRY(expand(device, block.fc_weight, codes.fc, all.scheme, 0, 4 * W, C));
    return expand(device, block.mlp_weight, codes.mlp, all.scheme, 0, C, 4 * W);
}

template <class T> static code_matrix &codes_of(params<T> &w, gpt2_tensor tensor, int layer) {
    switch (tensor) {
        case GPT2_QKVW: return w.codes[(size_t)layer].qkv;
        case GPT2_ATTPROJW: return w.codes[(size_t)layer].attention;
        case GPT2_FCW: return w.codes[(size_t)layer].fc;
        case GPT2_FCPROJW: return w.codes[(size_t)layer].mlp;
        default: return w.head_codes;
    }
}

// The equally long pieces of a tensor in GPT2_OUT_IN, of each of which rank r of R has the r-th R-th. 0: every rank has the
// whole tensor.
static int64_t pieces_of(const gpt2_config &config, gpt2_tensor tensor) {
    switch (tensor) {
        case GPT2_QKVW:
        case GPT2_QKVB: return 3; // the rows of Q, of K and of V
        case GPT2_FCW:
        case GPT2_FCB: return 1;
        case GPT2_ATTPROJW:
        case GPT2_FCPROJW: return config.channels; // the columns of each row
        default: return 0;
    }
}

// Copies this rank's part of a tensor with `count` elements to the device.
template <class T, class P>
static int copy_part(const tensors<T> &all, gpt2_tensor tensor, P *to, const P *from, int64_t count) {
    const int64_t pieces = pieces_of(all.config, tensor);
    if (pieces == 0) { return cudaMemcpy(to, from, (size_t)count * sizeof(P), cudaMemcpyHostToDevice); }
    const int64_t piece = count / pieces, part = piece / all.ranks();
    return cudaMemcpy2D(to, (size_t)part * sizeof(P), from + all.rank() * part, (size_t)piece * sizeof(P),
                        (size_t)part * sizeof(P), (size_t)pieces, cudaMemcpyHostToDevice);
}

// A tensor on its way to the device.
struct staging {
    char *values;  // the largest tensor, in T
    float *scales; // (the most rows)
};

// False: the source cannot read it. *code: of the copy to the device.
template <class T>
static bool load_plain(tensors<T> &all, const gpt2_source *source, gpt2_tensor tensor, int layer, staging &through,
                       int *code, gpt2_error *error) {
    if (!source->read(source->context, tensor, layer, type_of<T>::file, GPT2_OUT_IN, through.values, error)) {
        return false;
    }
    const int64_t count = gpt2_tensor_elements(&all.config, tensor);
    const bool once = tensor == GPT2_ATTPROJB || tensor == GPT2_FCPROJB; // the ranks' sum has the bias of rank 0
    if (once && all.rank() > 0) { memset(through.values, 0, (size_t)count * sizeof(T)); }
    *code = copy_part(all, tensor, place_of(all.weights, tensor, layer), (const T *)through.values, count);
    return true;
}

template <class T>
static bool load_codes(tensors<T> &all, const gpt2_source *source, gpt2_tensor tensor, int layer, staging &through,
                       int *code, gpt2_error *error) {
    const size_t rows = (size_t)gpt2_tensor_rows(&all.config, tensor);
    const code_matrix &to = codes_of(all.weights, tensor, layer);
    if (!source->read_codes(source->context, tensor, layer, (uint8_t *)through.values, through.scales, error)) {
        return false;
    }
    const float largest_code =
        all.scheme == GPT2_INT8 ? 128.0f : gpt2_scheme_most(all.scheme); /* files may have -128 */
    for (size_t row = 0; type_of<T>::file == GPT2_F16 && row < rows; row++) {
        if (std::fabs(through.scales[row]) * largest_code > 65504.0f) {
            char name[GPT2_NAME_BYTES];
            gpt2_tensor_name(tensor, layer, name);
            return gpt2_fail(error, "%s: channel %d is beyond the range of F16", name, (int)row);
        }
    }
    *code =
        copy_part(all, tensor, to.codes, (const uint8_t *)through.values, gpt2_tensor_elements(&all.config, tensor));
    const gpt2_tensor bias = (gpt2_tensor)(tensor + 1); // of a linear layer: scales are divided as it is
    if (*code == 0) { *code = copy_part(all, bias, to.scales, (const float *)through.scales, (int64_t)rows); }
    if (*code == 0 && all.coded_inputs && gpt2_tensor_product(tensor) >= 0) {
        const float *const input = source->input_scales + layer * GPT2_PRODUCTS + gpt2_tensor_product(tensor);
        *code = cudaMemcpy(to.input, input, sizeof *input, cudaMemcpyHostToDevice);
    }
    return true;
}

// Zeros in the rows of the embedding and of the head past the vocabulary.
template <class T> static int clear_padding(tensors<T> &all) {
    const int64_t V = all.config.vocabulary, C = all.config.channels, rows = all.config.padded_vocabulary - V;
    T *const padded[] = {all.weights.token_embedding, all.weights.head}; // nvcc refuses a list in the for statement
    for (T *matrix : padded) {
        if (matrix != nullptr) { TRY(cudaMemset(matrix + V * C, 0, (size_t)(rows * C) * sizeof(T))); }
    }
    if (all.scheme == GPT2_PLAIN) { return 0; }
    TRY(cudaMemset(all.weights.head_codes.codes + V * C, 0, (size_t)(rows * C)));
    return cudaMemset(all.weights.head_codes.scales + V, 0, (size_t)rows * sizeof(float));
}

template <class T> bool tensors_load(tensors<T> &all, const gpt2_source *source, gpt2_error *error) {
    const gpt2_config &config = all.config;
    int64_t largest = 0, rows = 0;
    for (int i = 0; i < GPT2_TENSORS; i++) {
        largest = std::max(largest, gpt2_tensor_elements(&config, (gpt2_tensor)i));
        rows = std::max(rows, gpt2_tensor_rows(&config, (gpt2_tensor)i));
    }
    staging through = {(char *)malloc((size_t)largest * sizeof(T)), (float *)malloc((size_t)rows * sizeof(float))};
    bool good = through.values != nullptr && through.scales != nullptr;
    if (!good) { gpt2_fail(error, "out of memory for a tensor of the model"); }
    int code = good ? clear_padding(all) : 0;
    for (int i = 0; good && code == 0 && i < GPT2_TENSORS; i++) {
        const gpt2_tensor tensor = (gpt2_tensor)i;
        const bool coded = all.scheme != GPT2_PLAIN && gpt2_tensor_in_codes(&config, tensor);
        const int layers = gpt2_tensor_layers(&config, tensor);
        for (int layer = 0; good && code == 0 && layer < layers; layer++) {
            good = (coded ? load_codes<T> : load_plain<T>)(all, source, tensor, layer, through, &code, error);
        }
    }
    free(through.values);
    free(through.scales);
    char text[128];
    if (code != 0) { device_message(code, text, sizeof text); }
    return code == 0 ? good : gpt2_fail(error, "the weights cannot be copied to the device: %s", text);
}

#define INSTANTIATE(T)                                                           \
    template size_t tensors_bytes(tensors<T> &);                                 \
    template int tensors_allocate(tensors<T> &);                                 \
    template bool tensors_load(tensors<T> &, const gpt2_source *, gpt2_error *); \
    template int expand_block(gpt2_device &, tensors<T> &, int);                 \
    template void tensors_free(tensors<T> &);
FOR_EACH_TYPE(INSTANTIATE)
#define INSTANTIATE_PLACE(T) template T *&place_of(params<T> &, gpt2_tensor, int);
FOR_EACH_TYPE(INSTANTIATE_PLACE)
