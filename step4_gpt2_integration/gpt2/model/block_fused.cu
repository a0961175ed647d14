// block_fused.cu — a transformer block with fused attention, and with GELU in the epilogue of a product
//
// Purpose   Prompts, and decoding steps of batches that decode_fused.cu does not support. All passes of a divided model, also
//           with the taught forms of attention: lab 4's block computes whole models alone.
// Launches  7 a block: 4 products, the third with bias and GELU in its epilogue, 2 residual+LayerNorms, attention. The taught
//           block has 12 in prompts. In prompts of 16-bit types the second and fourth product add to the residual stream
//           themselves.
// Bytes     In prompts of T tokens 3.5 B H T T elements less than the taught block for the scores, and 8 B T C less for the GELU.
//           The two residual adds in products take 2 B T C less: LayerNorm reads and writes half as much, and each product
//           reads B T C.
#include "gpt2/model/block_fused.cuh"

#include "gpt2/model/attention.cuh"
#include "gpt2/model/attention_fused.cuh"
#include "gpt2/model/decode.cuh"
#include "gpt2/model/matmul.cuh"
#include "gpt2/model/rows.cuh"

#include <algorithm>

// In groups of as many sequences as fit in the memory of the scores.
template <class T>
static int attend_taught(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer,
                         const pass &pass) {
    activations<T> &a = all.work;
    block_cache<T> &cache = all.cache[(size_t)layer];
    const int H = all.heads(), D = all.width() / H, S = all.context;
    if (pass.decoding) {
        return decode_attention(device, a.attention, cache.k, cache.v, a.qkv, a.positions, pass.B, H, D, S);
    }
    for (int b = 0; b < pass.B; b += all.group) {
        const int64_t rows = (int64_t)b * pass.T * H * D, cached = (int64_t)b * S * H * D;
        TRY(attention_forward(device, kernels, a.attention + rows, cache.k + cached, cache.v + cached, a.query + rows,
                              a.scores, a.qkv + 3 * rows, a.lengths + b, std::min(all.group, pass.B - b), pass.T, H, D,
                              S));
    }
    return 0;
}

template <class T>
static int attend(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass,
                  bool ends) {
    activations<T> &a = all.work;
    block_cache<T> &cache = all.cache[(size_t)layer];
    const int H = all.heads(), D = all.width() / H;
    if (pass.decoding && all.forms.decode_rows) {
        return decode_rows(device, a.attention, cache.k, cache.v, a.partial, a.qkv, a.positions, pass.B, H, D,
                           all.context);
    }
    if (pass.decoding && all.forms.decode_fused) { return attend_split(device, all, layer, pass.B); }
    if (pass.decoding || !all.forms.attention_fused) { return attend_taught(device, kernels, all, layer, pass); }
    if (all.forms.attention_rows) {
        return attention_rows(device, a.attention, cache.k, cache.v, a.scores, a.qkv, a.lengths, pass.B, pass.T, H, D,
                              all.context);
    }
    return attention_fused(device, a.attention, cache.k, cache.v, nullptr, a.qkv, a.lengths, pass.B, pass.T, H, D,
                           all.context, all.forms.tensor_cores, {}, ends);
}

// a.normalised = LayerNorm(a.residual), after a.residual += a.branch if `adds` and the product before has not added it.
template <class T>
static int normalise(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, const T *weight, const T *bias,
                     const pass &pass, bool adds) {
    const auto &op = type_of<T>::kernels(kernels);
    activations<T> &a = all.work;
    const int N = pass.N(), C = all.config.channels;
    const float eps = all.config.epsilon;
    if (adds) { TRY(end_sum(device, all)); }
    adds = adds && !adds_in_products(device, all, pass);
    if (pass.decoding ? all.forms.decode_rows : all.forms.attention_rows) {
        const T *const nothing = nullptr;
        return layernorm_rows(device, a.normalised, a.residual, adds ? a.branch : nothing, weight, bias, N, C, eps);
    }
    if (adds) {
        return op.residual_layernorm_forward(a.normalised, a.residual, a.mean, a.rstd, a.residual, a.branch, weight,
                                             bias, N, C, eps, device.stream);
    }
    return op.layernorm_forward(a.normalised, a.mean, a.rstd, a.residual, weight, bias, N, C, eps, device.stream);
}

// out (N, OC) = activation?(x (N, C) weight^T + bias), with activations in 8 bits where the model has them.
template <class T>
static int product(gpt2_device &device, tensors<T> &all, T *out, const T *x, const T *weight,
                   const code_matrix block_codes::*codes, const T *bias, int layer, bool activated, int N, int C,
                   int OC) {
    if (all.coded_inputs) {
        return matmul_codes(device, out, x, all.weights.codes[(size_t)layer].*codes, all.scheme, bias, activated,
                            all.config.activation, all.work.codes, N, C, OC);
    }
    return activated ? matmul_gelu(device, out, x, weight, bias, N, C, OC)
                     : matmul(device, out, x, weight, bias, N, C, OC);
}

// The last product of attention or MLP: a.branch (N, C) = x (N, K) weight^T + bias, or a.residual += it.
template <class T>
static int project(gpt2_device &device, tensors<T> &all, const T *x, const T *weight,
                   const code_matrix block_codes::*codes, const T *bias, const char *stage, int layer, const pass &pass,
                   int K) {
    activations<T> &a = all.work;
    const int N = pass.N(), C = all.config.channels;
    if (adds_in_products(device, all, pass)) {
        TRY(matmul_add(device, a.residual, x, weight, bias, N, K, C));
        return observe(device, stage, layer, a.residual, N, C, C); // for its time: there is no observer
    }
    TRY(product(device, all, a.branch, x, weight, codes, bias, layer, false, N, K, C));
    TRY(begin_sum(device, all, a.branch, (int64_t)N * C));
    return observe(device, stage, layer, a.branch, N, C, C);
}

template <class T>
int block_fused_begin(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass,
                      bool ends) {
    const block_weights<T> &w = all.weights.blocks[(size_t)layer];
    activations<T> &a = all.work;
    const int N = pass.N(), C = all.config.channels, W = all.width();

    TRY(normalise(device, kernels, all, w.ln1_weight, w.ln1_bias, pass, layer > 0));
    if (layer > 0) { TRY(observe(device, "residual after mlp", layer - 1, a.residual, N, C, C)); }
    TRY(observe(device, "ln1", layer, a.normalised, N, C, C));
    TRY(product(device, all, a.qkv, a.normalised, w.qkv_weight, &block_codes::qkv, w.qkv_bias, layer, false, N, C,
                3 * W));
    TRY(observe(device, "qkv", layer, a.qkv, N, 3 * W, 3 * W));
    TRY(attend(device, kernels, all, layer, pass, ends));
    TRY(observe(device, "attention", layer, a.attention, N, W, W));
    return 0;
}

template <class T> int block_fused_project(gpt2_device &device, tensors<T> &all, int layer, const pass &pass) {
    const block_weights<T> &w = all.weights.blocks[(size_t)layer];
    return project(device, all, all.work.attention, w.attention_weight, &block_codes::attention, w.attention_bias,
                   "attention projection", layer, pass, all.width());
}

template <class T>
int block_fused_finish(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass) {
    const auto &op = type_of<T>::kernels(kernels);
    const block_weights<T> &w = all.weights.blocks[(size_t)layer];
    activations<T> &a = all.work;
    const int N = pass.N(), C = all.config.channels, W = all.width();

    TRY(normalise(device, kernels, all, w.ln2_weight, w.ln2_bias, pass, true));
    TRY(observe(device, "residual after attention", layer, a.residual, N, C, C));
    TRY(observe(device, "ln2", layer, a.normalised, N, C, C));
    if (all.coded_inputs || all.config.activation == GPT2_GELU_TANH) {
        TRY(product(device, all, a.hidden, a.normalised, w.fc_weight, &block_codes::fc, w.fc_bias, layer, true, N, C,
                    4 * W));
    } else { // cuBLASLt's epilogue has the tanh form alone
        TRY(matmul<T>(device, a.hidden, a.normalised, w.fc_weight, nullptr, N, C, 4 * W));
        TRY(op.bias_gelu_forward(a.hidden, a.hidden, w.fc_bias, N, 4 * W, device.stream));
    }
    TRY(observe(device, "gelu", layer, a.hidden, N, 4 * W, 4 * W));
    return project(device, all, a.hidden, w.mlp_weight, &block_codes::mlp, w.mlp_bias, "mlp projection", layer, pass,
                   4 * W);
}

#define INSTANTIATE(T)                                                                                          \
    template int block_fused_begin(gpt2_device &, const kernel_table &, tensors<T> &, int, const pass &, bool); \
    template int block_fused_project(gpt2_device &, tensors<T> &, int, const pass &);                           \
    template int block_fused_finish(gpt2_device &, const kernel_table &, tensors<T> &, int, const pass &);
FOR_EACH_TYPE(INSTANTIATE)
