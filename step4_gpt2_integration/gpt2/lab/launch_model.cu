// launch_model.cu — the launchers of gpt2_forward and gpt2_decode: the model's passes around lab 4's three files
#include "gpt2/lab/launch.cuh"
#include "gpt2/model/cross_entropy.cuh"
#include "gpt2/model/embedding.cuh"
#include "gpt2/model/forward.cuh"
#include "ops/gpt2_decode/contract.h"
#include "ops/gpt2_forward/contract.h"

#include <cstring>

namespace {

// A model's weights in the layout of the contract: the tensors in order, each with all its layers.
template <class T> struct packed {
    gpt2_config config;
    std::vector<T> weights;

    static bool read(void *context, gpt2_tensor tensor, int layer, gpt2_type, gpt2_layout, void *out, gpt2_error *) {
        const packed *from = (const packed *)context;
        int64_t offset = 0, elements = gpt2_tensor_elements(&from->config, tensor);
        for (int i = 0; i < tensor; i++) {
            int layers = gpt2_tensor_layers(&from->config, (gpt2_tensor)i);
            offset += layers * gpt2_tensor_elements(&from->config, (gpt2_tensor)i);
        }
        memcpy(out, &from->weights[(size_t)(offset + layer * elements)], (size_t)elements * sizeof(T));
        return true;
    }
};

template <class T> struct model {
    gpt2_device *device;
    tensors<T> all = {};
    int N, C, L, V;

    ~model() { tensors_free(all); }

    int open(const T *weights, int B, int T_, int H, int D, int S, int L_, int V_, float eps, cudaStream_t stream) {
        TRY(lab_device(&device, stream));
        N = B * T_, C = H * D, L = L_, V = V_;
        packed<T> from = {{S, V, V, L, H, C, eps, GPT2_GELU_TANH, false, false, {}}, {}};
        int64_t elements = gpt2_config_weights(&from.config, V);
        from.weights.resize((size_t)elements);
        TRY(cudaMemcpy(from.weights.data(), weights, (size_t)elements * sizeof(T), cudaMemcpyDeviceToHost));
        all.config = from.config;
        all.batch = B, all.prompt = T_, all.context = S;
        TRY(tensors_allocate(all));
        all.group = (B + 1) / 2; // two groups, where there are two sequences
        gpt2_source source = {};
        source.config = all.config;
        source.read = packed<T>::read;
        source.context = &from;
        gpt2_error error;
        return tensors_load(all, &source, &error) ? 0 : (int)cudaErrorUnknown;
    }

    template <class P> int copy(P *to, const P *from, size_t count) {
        return cudaMemcpyAsync(to, from, count * sizeof(P), cudaMemcpyDeviceToDevice, device->stream);
    }
};

template <class T>
int forward(T *hidden, float *logits, float *losses, const T *weights, const int *tokens, const int *targets,
            const int *lengths, int B, int T_, int H, int D, int S, int L, int V, float eps, cudaStream_t stream) {
    model<T> m;
    TRY(m.open(weights, B, T_, H, D, S, L, V, eps, stream));
    activations<T> &a = m.all.work;
    const size_t state = (size_t)m.N * m.C;
    TRY(m.copy(a.tokens, tokens, m.N));
    TRY(m.copy(a.targets, targets, m.N));
    TRY(m.copy(a.lengths, lengths, B));
    TRY(embed(*m.device, a.residual, m.all.weights.token_embedding, m.all.weights.position_embedding, a.tokens,
              (const int *)nullptr, B, T_, m.C));
    for (int layer = 0; layer < L; layer++) {
        TRY(block_forward(*m.device, lab_kernels(), m.all, layer, {B, T_, false}));
        TRY(m.copy(hidden + (2 * layer) * state, a.residual, state));
        TRY(m.copy(hidden + (2 * layer + 1) * state, a.branch, state));
    }
    TRY(type_of<T>::kernels(lab_kernels())
            .residual_layernorm_forward(a.normalised, a.residual, a.mean, a.rstd, a.residual, a.branch,
                                        m.all.weights.final_weight, m.all.weights.final_bias, m.N, m.C, eps, stream));
    TRY(m.copy(hidden + 2 * L * state, a.normalised, state));
    for (int first = 0; first < m.N; first += m.all.logit_rows) {
        int rows = m.N - first < m.all.logit_rows ? m.N - first : m.all.logit_rows;
        TRY(logits_of_rows(*m.device, m.all, first, rows));
        TRY(cross_entropy(*m.device, losses + first, a.logits, a.targets + first, rows, V, V));
        TRY(m.copy(logits + (size_t)first * V, a.logits, (size_t)rows * V));
    }
    return cudaStreamSynchronize(stream);
}

// Copies hidden, logits and the likeliest token after the prompts or a step.
template <class T> int show(model<T> &m, T *hidden, float *logits, int *greedy, int step, int B) {
    const activations<T> &a = m.all.work;
    const size_t V = (size_t)m.V, first = (size_t)step * B;
    std::vector<float> rows((size_t)B * V);
    std::vector<int> best((size_t)B, 0);
    TRY(m.copy(hidden + first * m.C, a.normalised, (size_t)B * m.C));
    TRY(m.copy(logits + first * V, a.logits, (size_t)B * V));
    TRY(cudaStreamSynchronize(m.device->stream));
    TRY(cudaMemcpy(rows.data(), a.logits, rows.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int b = 0; b < B; b++) {
        for (size_t v = 0; v < V; v++) {
            if (rows[b * V + v] > rows[b * V + best[(size_t)b]]) { best[(size_t)b] = (int)v; }
        }
    }
    return cudaMemcpy(greedy + first, best.data(), (size_t)B * sizeof(int), cudaMemcpyHostToDevice);
}

template <class T>
int decode(T *hidden, float *logits, int *greedy, const T *weights, const int *tokens, const int *next,
           const int *lengths, int B, int T_, int H, int D, int S, int L, int V, float eps, cudaStream_t stream) {
    model<T> m;
    TRY(m.open(weights, B, T_, H, D, S, L, V, eps, stream));
    activations<T> &a = m.all.work;
    TRY(m.copy(a.tokens, tokens, m.N));
    TRY(m.copy(a.lengths, lengths, B));
    TRY(prefill(*m.device, lab_kernels(), m.all, B, T_));
    TRY(show(m, hidden, logits, greedy, 0, B));
    for (int step = 0; step < S - T_; step++) {
        TRY(m.copy(a.tokens, next + (size_t)step * B, B));
        TRY(decode_step(*m.device, lab_kernels(), m.all, B));
        TRY(show(m, hidden, logits, greedy, step + 1, B));
    }
    return 0;
}

} // namespace

#define LAUNCHERS(T, type)                                                                                            \
    int gpt2_forward_##type(T *hidden, float *logits, float *losses, const T *weights, const int *tokens,             \
                            const int *targets, const int *lengths, int B, int T_, int H, int D, int S, int L, int V, \
                            float eps, cudaStream_t stream) {                                                         \
        return forward(hidden, logits, losses, weights, tokens, targets, lengths, B, T_, H, D, S, L, V, eps, stream); \
    }                                                                                                                 \
    int gpt2_decode_##type(T *hidden, float *logits, int *greedy, const T *weights, const int *tokens,                \
                           const int *next, const int *lengths, int B, int T_, int H, int D, int S, int L, int V,     \
                           float eps, cudaStream_t stream) {                                                          \
        return decode(hidden, logits, greedy, weights, tokens, next, lengths, B, T_, H, D, S, L, V, eps, stream);     \
    }
LAUNCHERS(float, f32)
LAUNCHERS(__half, f16)
LAUNCHERS(__nv_bfloat16, bf16)
