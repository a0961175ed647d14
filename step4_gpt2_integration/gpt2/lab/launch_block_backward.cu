// launch_block_backward.cu — the launchers of block_backward around the template that lab 4's optional task writes
#include "gpt2/lab/launch.cuh"
#include "gpt2/model/bias_backward.cuh"
#include "gpt2/model/block_backward.cuh"
#include "ops/block_backward/contract.h"

template <class T>
static int backward(const block_weights<float> &gradients, T *dx, const T *dout, const kept<T> &kept,
                    const block_weights<T> &weights, const int *lengths, int B, int T_, int H, int D,
                    cudaStream_t stream) {
    const size_t C = (size_t)H * D, N = (size_t)B * T_;
    gpt2_device *device;
    lab_room memory;
    backward_room<T> room = {};
    TRY(lab_device(&device, stream));
    TRY(memory.take(room.dnormalised, N * C));
    TRY(memory.take(room.dwide, 4 * N * C));
    TRY(memory.take(room.partial, bias_most_parts * 4 * C));
    TRY(memory.take(room.attention.query, N * C));
    TRY(memory.take(room.attention.k, N * C));
    TRY(memory.take(room.attention.v, N * C));
    TRY(memory.take(room.attention.dout, N * C));
    TRY(memory.take(room.attention.scores, N * H * T_));
    TRY(memory.take(room.attention.dscores, N * H * T_));
    TRY(cudaMemcpyAsync(dx, dout, N * C * sizeof(T), cudaMemcpyDeviceToDevice, stream));
    TRY(block_backward(*device, lab_kernels(), dx, gradients, weights, kept, room, lengths, {B, T_, false}, H, D));
    return cudaStreamSynchronize(stream);
}

template <class P> static P *own(const P *given) { // the model's structs have no const
    return const_cast<P *>(given);
}

#define LAUNCHERS(T, type)                                                                                             \
    int block_backward_##type(                                                                                         \
        float *dmlp_weight, float *dmlp_bias, float *dfc_weight, float *dfc_bias, float *dln2_weight,                  \
        float *dln2_bias, float *dattention_weight, float *dattention_bias, float *dqkv_weight, float *dqkv_bias,      \
        float *dln1_weight, float *dln1_bias, T *dx, const T *dout, const T *residual, const T *normalised,            \
        const T *qkv, const T *attention, const T *middle, const T *normalised2, const T *fc, const T *hidden,         \
        const float *mean, const float *rstd, const float *mean2, const float *rstd2, const T *ln1_weight,             \
        const T *ln1_bias, const T *qkv_weight, const T *qkv_bias, const T *attention_weight, const T *attention_bias, \
        const T *ln2_weight, const T *ln2_bias, const T *fc_weight, const T *fc_bias, const T *mlp_weight,             \
        const T *mlp_bias, const int *lengths, int B, int T_, int H, int D, cudaStream_t stream) {                     \
        const block_weights<float> gradients = {dln1_weight,       dln1_bias,       dqkv_weight, dqkv_bias,            \
                                                dattention_weight, dattention_bias, dln2_weight, dln2_bias,            \
                                                dfc_weight,        dfc_bias,        dmlp_weight, dmlp_bias};           \
        const kept<T> kept = {own(residual),    own(normalised), own(qkv),    own(attention), own(middle),             \
                              own(normalised2), own(fc),         own(hidden), own(mean),      own(rstd),               \
                              own(mean2),       own(rstd2),      nullptr};                                             \
        const block_weights<T> weights = {own(ln1_weight),       own(ln1_bias),       own(qkv_weight), own(qkv_bias),  \
                                          own(attention_weight), own(attention_bias), own(ln2_weight), own(ln2_bias),  \
                                          own(fc_weight),        own(fc_bias),        own(mlp_weight), own(mlp_bias)}; \
        return backward(gradients, dx, dout, kept, weights, lengths, B, T_, H, D, stream);                             \
    }
LAUNCHERS(float, f32)
LAUNCHERS(__half, f16)
LAUNCHERS(__nv_bfloat16, bf16)
