// step: step4  op: block_backward_f32
// reason: LayerNorm's gradient alone, and a kernel of its own that adds what went past the sub-layer

template <class T> __global__ void add_kernel(T *stream, const T *branch, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { stream[i] = from_float<T>(to_float(stream[i]) + to_float(branch[i])); }
}

template <class T> static int add(gpt2_device &device, T *stream, const T *branch, int count) {
    add_kernel<<<blocks_of(count, 128), 128, 0, device.stream>>>(stream, branch, count);
    return cudaGetLastError();
}

// dx (N, C) from dout (N, OC), and both parameters' gradients. dbias: null where another kernel makes it.
template <class T>
static int linear_backward(gpt2_device &device, T *dx, float *dweight, float *dbias, float *partial, const T *dout,
                           const T *x, const T *weight, int N, int C, int OC) {
    if (dbias != nullptr) { TRY(bias_backward(device, dbias, partial, dout, N, OC)); }
    TRY(matmul_dweight(device, dweight, dout, x, N, C, OC, OC));
    return matmul_dx(device, dx, dout, weight, N, C, OC, OC);
}

template <class T>
int block_backward(gpt2_device &device, const kernel_table &kernels, T *stream, const block_weights<float> &gradients,
                   const block_weights<T> &weights, const kept<T> &kept, const backward_room<T> &room,
                   const int *lengths, const pass &pass, int H, int D) {
    const auto &op = type_of<T>::kernels(kernels);
    const block_weights<float> &g = gradients;
    const block_weights<T> &w = weights;
    const int N = pass.N(), C = H * D;
    T *narrow = room.dnormalised, *wide = room.dwide;

    TRY(linear_backward(device, wide, g.mlp_weight, g.mlp_bias, room.partial, stream, kept.hidden, w.mlp_weight, N,
                        4 * C, C));
    TRY(op.bias_gelu_backward(wide, g.fc_bias, wide, kept.fc, w.fc_bias, N, 4 * C, device.stream));
    TRY(linear_backward<T>(device, narrow, g.fc_weight, nullptr, room.partial, wide, kept.normalised2, w.fc_weight, N,
                           C, 4 * C));
    TRY(op.layernorm_backward(narrow, g.ln2_weight, g.ln2_bias, narrow, kept.middle, w.ln2_weight, kept.mean2,
                              kept.rstd2, N, C, device.stream));
    TRY(add(device, stream, narrow, N * C));

    TRY(linear_backward(device, narrow, g.attention_weight, g.attention_bias, room.partial, stream, kept.attention,
                        w.attention_weight, N, C, C));
    TRY(attention_backward(device, kernels, wide, room.attention, narrow, kept.qkv, lengths, pass.B, pass.T, H, D));
    TRY(linear_backward(device, narrow, g.qkv_weight, g.qkv_bias, room.partial, wide, kept.normalised, w.qkv_weight, N,
                        C, 3 * C));
    TRY(op.layernorm_backward(narrow, g.ln1_weight, g.ln1_bias, narrow, kept.residual, w.ln1_weight, kept.mean,
                              kept.rstd, N, C, device.stream));
    return add(device, stream, narrow, N * C);
}

#define INSTANTIATE(T)                                                                                            \
    template int block_backward(gpt2_device &, const kernel_table &, T *, const block_weights<float> &,           \
                                const block_weights<T> &, const kept<T> &, const backward_room<T> &, const int *, \
                                const pass &, int, int);
FOR_EACH_TYPE(INSTANTIATE)
