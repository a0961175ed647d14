// launch_block.cu — the launchers of block_forward around the template that lab 4 writes
#include "gpt2/lab/launch.cuh"
#include "gpt2/model/block.cuh"
#include "ops/block_forward/contract.h"

// The given parameters and cache belong to this layer. The layers beside it have parameters of zeros and another cache, so that
// the use of a wrong layer is a valid access with a wrong result.
template <class T>
static int block(T *k, T *v, T *residual, T *branch, const block_weights<T> &weights, const int *lengths, int B, int T_,
                 int H, int D, int S, int layer, float eps, cudaStream_t stream) {
    const size_t C = (size_t)H * D, N = (size_t)B * T_;
    gpt2_device *device;
    lab_room room;
    tensors<T> all = {};
    activations<T> &a = all.work;
    TRY(lab_device(&device, stream));
    all.config.heads = H, all.config.channels = (int)C, all.config.layers = layer + 2, all.config.epsilon = eps;
    all.batch = B, all.prompt = T_, all.context = S;
    all.group = (B + 1) / 2; // two groups, where there are two sequences
    T *zeros;
    block_cache<T> other;
    const size_t widest = 4 * C * C, cached = (size_t)B * S * C; // the largest parameter, as C >= 1
    TRY(room.take(zeros, widest));
    TRY(room.take(other.k, cached));
    TRY(room.take(other.v, cached));
    TRY(cudaMemsetAsync(zeros, 0, widest * sizeof(T), stream));
    all.weights.blocks.assign((size_t)layer + 2,
                              {zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros});
    all.weights.blocks[(size_t)layer] = weights;
    all.cache.assign((size_t)layer + 2, other);
    all.cache[(size_t)layer] = {k, v};
    a.residual = residual, a.branch = branch, a.lengths = const_cast<int *>(lengths);
    TRY(room.take(a.normalised, N * C));
    TRY(room.take(a.qkv, 3 * N * C));
    TRY(room.take(a.attention, N * C));
    TRY(room.take(a.query, N * C));
    TRY(room.take(a.scores, (size_t)all.group * H * T_ * T_));
    TRY(room.take(a.hidden, 4 * N * C));
    TRY(room.take(a.mean, N));
    TRY(room.take(a.rstd, N));
    TRY(block_forward(*device, lab_kernels(), all, layer, {B, T_, false}));
    return cudaStreamSynchronize(stream);
}

template <class T> static T *own(const T *parameter) { // the model's struct has no const
    return const_cast<T *>(parameter);
}

#define LAUNCHERS(T, type)                                                                                             \
    int block_forward_##type(T *k, T *v, T *residual, T *branch, const T *ln1_weight, const T *ln1_bias,               \
                             const T *qkv_weight, const T *qkv_bias, const T *attention_weight,                        \
                             const T *attention_bias, const T *ln2_weight, const T *ln2_bias, const T *fc_weight,      \
                             const T *fc_bias, const T *mlp_weight, const T *mlp_bias, const int *lengths, int B,      \
                             int T_, int H, int D, int S, int layer, float eps, cudaStream_t stream) {                 \
        const block_weights<T> weights = {own(ln1_weight),       own(ln1_bias),       own(qkv_weight), own(qkv_bias),  \
                                          own(attention_weight), own(attention_bias), own(ln2_weight), own(ln2_bias),  \
                                          own(fc_weight),        own(fc_bias),        own(mlp_weight), own(mlp_bias)}; \
        return block(k, v, residual, branch, weights, lengths, B, T_, H, D, S, layer, eps, stream);                    \
    }
LAUNCHERS(float, f32)
LAUNCHERS(__half, f16)
LAUNCHERS(__nv_bfloat16, bf16)
