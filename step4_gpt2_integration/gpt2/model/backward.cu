// backward.cu — a training pass: forward, losses, and back through the whole model (training.cuh)
//
// Purpose   The gradient of the loss to every parameter. Each step undoes one of the forward pass, in reverse order.
// Math      `stream` is the gradient of the residual stream. A sub-layer y = f(LayerNorm(x)) with out = x + y passes it on as
//           dx = dout + LayerNorm'(f'(dout)): one kernel, residual_layernorm_backward. A linear layer: see matmul.cuh.
// Bytes     of a block: the weights twice and their fp32 gradients, 4 bytes an element, read and written; the activations.
//           Operations: twice those of the forward pass, for each product has two gradients. With recompute three times.
// Order     Every sum has one order, so a pass gives the same bits each time.
#include "gpt2/model/attention_fused_backward.cuh"
#include "gpt2/model/bias_backward.cuh"
#include "gpt2/model/ends.cuh"
#include "gpt2/model/ends_backward.cuh"
#include "gpt2/model/matmul.cuh"
#include "gpt2/model/training.cuh"

#include <algorithm>

// *total += the sum of x (count): one block, so one order; in fp64.
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

// logits (rows, Vp) of rows first..first+rows-1.
template <class T> static int logits(gpt2_device &device, training<T> &t, int first, int rows) {
    const int C = t.all.config.channels, Vp = t.all.config.padded_vocabulary;
    return matmul<float, T>(device, t.all.work.logits, t.end.normalised + (int64_t)first * C,
                            t.all.weights.token_embedding, nullptr, rows, C, Vp, Vp);
}

// From `end` through the logits to the losses and back to `stream`, a few rows of logits at a time.
template <class T>
static int end_backward(gpt2_device &device, const kernel_table &kernels, training<T> &t, float scale, int N) {
    activations<T> &a = t.all.work;
    const gpt2_config &config = t.all.config;
    const int C = config.channels, V = config.vocabulary, Vp = config.padded_vocabulary;
    const int ld = Vp * (int)(sizeof(float) / sizeof(T)); // dlogits lie where the logits were
    const T *dlogits = (const T *)a.logits;
    for (int first = 0; first < N; first += t.all.logit_rows) {
        const int rows = std::min(t.all.logit_rows, N - first);
        const int64_t at = (int64_t)first * C;
        TRY(logits(device, t, first, rows));
        TRY(cross_entropy_backward<T>(device, a.losses + first, a.logits, a.targets + first, scale, rows, V, Vp));
        TRY(matmul_dx(device, t.dnormalised + at, dlogits, t.all.weights.token_embedding, rows, C, Vp, ld));
        TRY(matmul_dweight(device, t.gradients.token_embedding, dlogits, t.end.normalised + at, rows, C, Vp, ld));
    }
    return type_of<T>::kernels(kernels).layernorm_backward(t.stream, t.gradients.final_weight, t.gradients.final_bias,
                                                           t.dnormalised, t.end.residual, t.all.weights.final_weight,
                                                           t.end.mean, t.end.rstd, N, C, device.stream);
}

// dx (N, C) from dout (N, OC), and both parameters' gradients. dbias: null where it is made elsewhere.
template <class T>
static int linear_backward(gpt2_device &device, training<T> &t, T *dx, float *dweight, float *dbias, const T *dout,
                           const T *x, const T *weight, int N, int C, int OC) {
    if (dbias != nullptr) { TRY(bias_backward(device, dbias, t.partial, dout, N, OC)); }
    TRY(matmul_dweight(device, dweight, dout, x, N, C, OC, OC));
    return matmul_dx(device, dx, dout, weight, N, C, OC, OC);
}

// dqkv into dwide, from the gradient of the attention's output in dnormalised.
template <class T>
static int attend_backward(gpt2_device &device, const kernel_table &kernels, training<T> &t, const kept<T> &a,
                           const pass &pass) {
    const int C = t.all.config.channels, H = t.all.config.heads;
    if (t.all.forms.attention_fused) {
        return attention_fused_backward(device, t.dwide, t.delta, t.dnormalised, a.attention, a.qkv, a.lse, pass.B,
                                        pass.T, H, C / H);
    }
    for (int b = 0; b < pass.B; b += t.all.group) {
        const int64_t rows = (int64_t)b * pass.T * C;
        TRY(attention_backward(device, kernels, t.dwide + 3 * rows, t.room, t.dnormalised + rows, a.qkv + 3 * rows,
                               t.all.work.lengths + b, std::min(t.all.group, pass.B - b), pass.T, H, C / H));
    }
    return 0;
}

template <class T>
static int block_backward(gpt2_device &device, const kernel_table &kernels, training<T> &t, int layer,
                          const pass &pass) {
    const auto &op = type_of<T>::kernels(kernels);
    const block_weights<T> &w = t.all.weights.blocks[(size_t)layer];
    const block_weights<float> &g = t.gradients.blocks[(size_t)layer];
    const kept<T> &a = t.blocks[(size_t)layer];
    const int N = pass.N(), C = t.all.config.channels;

    TRY(linear_backward(device, t, t.dwide, g.mlp_weight, g.mlp_bias, t.stream, a.hidden, w.mlp_weight, N, 4 * C, C));
    TRY(op.bias_gelu_backward(t.dwide, g.fc_bias, t.dwide, a.fc, w.fc_bias, N, 4 * C, device.stream));
    TRY(linear_backward<T>(device, t, t.dnormalised, g.fc_weight, nullptr, t.dwide, a.normalised2, w.fc_weight, N, C,
                           4 * C));
    TRY(op.residual_layernorm_backward(t.stream, g.ln2_weight, g.ln2_bias, t.dnormalised, t.stream, a.middle,
                                       w.ln2_weight, a.mean2, a.rstd2, N, C, device.stream));
    TRY(mark(device, "mlp backward", layer));

    TRY(linear_backward(device, t, t.dnormalised, g.attention_weight, g.attention_bias, t.stream, a.attention,
                        w.attention_weight, N, C, C));
    TRY(attend_backward(device, kernels, t, a, pass));
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

template <class T>
int training_gradients(gpt2_device &device, const kernel_table &kernels, training<T> &t, float scale, int runs, int B,
                       int T_) {
    const pass pass = {B, T_, false};
    const int last = t.all.config.layers - 1, C = t.all.config.channels;
    TRY(training_forward(device, kernels, t, pass));
    TRY(end_backward(device, kernels, t, scale, pass.N()));
    TRY(add_losses(device, t, pass.N()));
    for (int layer = last; layer >= 0; layer--) {
        if (t.recompute && layer < last) { TRY(training_block_again(device, kernels, t, layer, pass)); }
        TRY(block_backward(device, kernels, t, layer, pass));
    }
    return embed_backward(device, t.gradients.token_embedding, t.gradients.position_embedding, t.stream,
                          t.all.work.tokens, t.order, t.starts, runs, B, T_, C);
}

template <class T>
int training_losses(gpt2_device &device, const kernel_table &kernels, training<T> &t, int B, int T_) {
    activations<T> &a = t.all.work;
    const int N = B * T_, V = t.all.config.vocabulary, Vp = t.all.config.padded_vocabulary;
    TRY(training_forward(device, kernels, t, {B, T_, false}));
    for (int first = 0; first < N; first += t.all.logit_rows) {
        const int rows = std::min(t.all.logit_rows, N - first);
        TRY(logits(device, t, first, rows));
        TRY(cross_entropy(device, a.losses + first, a.logits, a.targets + first, rows, V, Vp));
    }
    return add_losses(device, t, N);
}

#define INSTANTIATE(T)                                                                                         \
    template int training_gradients(gpt2_device &, const kernel_table &, training<T> &, float, int, int, int); \
    template int training_losses(gpt2_device &, const kernel_table &, training<T> &, int, int);
FOR_EACH_TYPE(INSTANTIATE)
