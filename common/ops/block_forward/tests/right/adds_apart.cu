// step: step4  op: block_forward_f32
// reason: layer 0 adds zeros, so that every layer begins with the same fused kernel

template <class T>
static int attend(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass) {
    activations<T> &a = all.work;
    block_cache<T> &cache = all.cache[(size_t)layer];
    const int H = all.config.heads, D = all.config.channels / H, S = all.context;
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
int block_forward(gpt2_device &device, const kernel_table &kernels, tensors<T> &all, int layer, const pass &pass) {
    const auto &op = type_of<T>::kernels(kernels);
    const block_weights<T> &w = all.weights.blocks[(size_t)layer];
    activations<T> &a = all.work;
    const int N = pass.N(), C = all.config.channels;
    const float eps = all.config.epsilon;

    if (layer == 0) { TRY(cudaMemsetAsync(a.branch, 0, (size_t)N * C * sizeof(T), device.stream)); }
    if (layer < 0) {
        TRY(op.layernorm_forward(a.normalised, a.mean, a.rstd, a.residual, w.ln1_weight, w.ln1_bias, N, C, eps,
                                 device.stream));
    } else {
        TRY(op.residual_layernorm_forward(a.normalised, a.residual, a.mean, a.rstd, a.residual, a.branch, w.ln1_weight,
                                          w.ln1_bias, N, C, eps, device.stream));
        TRY(observe(device, "residual after mlp", layer - 1, a.residual, N, C, C));
    }
    TRY(observe(device, "ln1", layer, a.normalised, N, C, C));

    TRY(matmul(device, a.qkv, a.normalised, w.qkv_weight, w.qkv_bias, N, C, 3 * C));
    TRY(observe(device, "qkv", layer, a.qkv, N, 3 * C, 3 * C));
    TRY(attend(device, kernels, all, layer, pass));
    TRY(observe(device, "attention", layer, a.attention, N, C, C));
    TRY(matmul(device, a.branch, a.attention, w.attention_weight, w.attention_bias, N, C, C));
    TRY(observe(device, "attention projection", layer, a.branch, N, C, C));

    TRY(op.residual_layernorm_forward(a.normalised, a.residual, a.mean, a.rstd, a.residual, a.branch, w.ln2_weight,
                                      w.ln2_bias, N, C, eps, device.stream));
    TRY(observe(device, "residual after attention", layer, a.residual, N, C, C));
    TRY(observe(device, "ln2", layer, a.normalised, N, C, C));

    TRY(matmul<T>(device, a.hidden, a.normalised, w.fc_weight, nullptr, N, C, 4 * C));
    TRY(mark(device, "fc", layer));
    TRY(op.bias_gelu_forward(a.hidden, a.hidden, w.fc_bias, N, 4 * C, device.stream));
    TRY(observe(device, "gelu", layer, a.hidden, N, 4 * C, 4 * C));
    TRY(matmul(device, a.branch, a.hidden, w.mlp_weight, w.mlp_bias, N, 4 * C, C));
    TRY(observe(device, "mlp projection", layer, a.branch, N, C, C));
    return 0;
}

#define INSTANTIATE(T) template int block_forward(gpt2_device &, const kernel_table &, tensors<T> &, int, const pass &);
FOR_EACH_TYPE(INSTANTIATE)
