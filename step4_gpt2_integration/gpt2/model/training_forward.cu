// training_forward.cu — the forward pass that keeps what the backward pass needs (training.cuh)
//
// Purpose   block.cu's steps, but for their results: a sum, a LayerNorm and a GELU each have a place of their own, and of every block
//           where block.cu uses the same memory again. Only branch, and what attention works in, is shared.
// Math      block.cuh
// Bytes     those of block.cu; what GELU reads is not what it writes any more
#include "gpt2/model/attention_fused.cuh"
#include "gpt2/model/ends.cuh"
#include "gpt2/model/matmul.cuh"
#include "gpt2/model/training.cuh"

#include <algorithm>

template <class T>
static int attend(gpt2_device &device, const kernel_table &kernels, training<T> &t, const kept<T> &a,
                  const pass &pass) {
    const activations<T> &work = t.all.work;
    const int C = t.all.config.channels, H = t.all.config.heads;
    if (t.all.forms.attention_fused) {
        return attention_fused<T>(device, a.attention, nullptr, nullptr, a.lse, a.qkv, work.lengths, pass.B, pass.T, H,
                                  C / H, pass.T, t.all.forms.tensor_cores);
    }
    for (int b = 0; b < pass.B; b += t.all.group) { // as many sequences at once as the scores have room for
        const int64_t rows = (int64_t)b * pass.T * C;
        TRY(attention_taught(device, kernels, a.attention + rows, t.room, a.qkv + 3 * rows, work.lengths + b,
                             std::min(t.all.group, pass.B - b), pass.T, H, C / H));
    }
    return 0;
}

// before: the stream that the block before left, to which its branch is added; null: a.residual is the sum already.
template <class T>
static int block(gpt2_device &device, const kernel_table &kernels, training<T> &t, const kept<T> &a, int layer,
                 const T *before, const pass &pass) {
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
    TRY(attend(device, kernels, t, a, pass));
    TRY(matmul(device, branch, a.attention, w.attention_weight, w.attention_bias, N, C, C));

    TRY(op.residual_layernorm_forward(a.normalised2, a.middle, a.mean2, a.rstd2, a.residual, branch, w.ln2_weight,
                                      w.ln2_bias, N, C, eps, device.stream));
    TRY(matmul<T>(device, a.fc, a.normalised2, w.fc_weight, nullptr, N, C, 4 * C)); // bias_gelu adds the bias
    TRY(op.bias_gelu_forward(a.hidden, a.fc, w.fc_bias, N, 4 * C, device.stream));
    TRY(matmul(device, branch, a.hidden, w.mlp_weight, w.mlp_bias, N, 4 * C, C));
    return mark(device, "block", layer);
}

template <class T>
int training_forward(gpt2_device &device, const kernel_table &kernels, training<T> &t, const pass &pass) {
    const params<T> &w = t.all.weights;
    const activations<T> &work = t.all.work;
    const int C = t.all.config.channels;
    const T *before = nullptr;
    TRY(embed(device, t.blocks[0].residual, w.token_embedding, w.position_embedding, work.tokens, nullptr, pass.B,
              pass.T, C));
    for (int layer = 0; layer < t.all.config.layers; layer++) {
        TRY(block(device, kernels, t, t.blocks[(size_t)layer], layer, before, pass));
        before = t.blocks[(size_t)layer].middle;
    }
    return type_of<T>::kernels(kernels).residual_layernorm_forward(
        t.end.normalised, t.end.residual, t.end.mean, t.end.rstd, before, work.branch, w.final_weight, w.final_bias,
        pass.N(), C, t.all.config.epsilon, device.stream);
}

// A branch of zeros is added to the input, so that the same kernel makes the same sums.
template <class T>
int training_block_again(gpt2_device &device, const kernel_table &kernels, training<T> &t, int layer,
                         const pass &pass) {
    const kept<T> &a = t.blocks[(size_t)layer];
    const size_t bytes = (size_t)pass.N() * (size_t)t.all.config.channels * sizeof(T);
    TRY(cudaMemsetAsync(t.all.work.branch, 0, bytes, device.stream));
    return block(device, kernels, t, a, layer, layer == 0 ? nullptr : a.residual, pass);
}

#define INSTANTIATE(T)                                                                               \
    template int training_forward(gpt2_device &, const kernel_table &, training<T> &, const pass &); \
    template int training_block_again(gpt2_device &, const kernel_table &, training<T> &, int, const pass &);
FOR_EACH_TYPE(INSTANTIATE)
