// block_backward.cu — the gradients of one transformer block, from what its forward pass kept (lab 4, optional)
//
// Purpose   Training a GPT-2 is twelve of these. This file only calls: the gradient of each step of the forward pass, the last
//           step first.
// Math      a sub-layer   out = x + f(LayerNorm(x))   gives dx = dout + LayerNorm'(f'(dout)), in one kernel
//           a product     y = x W^T + b               gives dx = dy W, dW += dy^T x, db += the sum of dy's rows
// Bytes     the weights once and their fp32 gradients read and written, 12 C C elements each: 85 MB in fp32 for 124M; the
//           activations of N tokens. Operations: twice those of the forward pass, for each product has two gradients.
// Order     every sum has one order, so the same call gives the same bits
#include "gpt2/model/block_backward.cuh"

#include "gpt2/model/bias_backward.cuh"
#include "gpt2/model/matmul.cuh"

// dx (N, C) from dout (N, OC), and the gradients of both parameters. dbias: null where another kernel computes it.
template <class T>
static int linear_backward(gpt2_device &device, T *dx, float *dweight, float *dbias, float *partial, const T *dout,
                           const T *x, const T *weight, int N, int C, int OC) {
    //:todo 4a The three gradients of y = x weight^T + bias, where y is (N, OC).
    //: Goal      dx (N, C), and what x and dout add to dweight (OC, C)
    //:           and dbias (OC). dbias null: another kernel computes it.
    //: Given     matmul_dx and matmul_dweight (gpt2/model/matmul.cuh),
    //:           bias_backward (gpt2/model/bias_backward.cuh), with
    //:           partial as its scratch memory.
    //:solution
    if (dbias != nullptr) { TRY(bias_backward(device, dbias, partial, dout, N, OC)); }
    TRY(matmul_dweight(device, dweight, dout, x, N, C, OC, OC));
    return matmul_dx(device, dx, dout, weight, N, C, OC, OC);
    //:stub
    //: return cudaErrorNotSupported; // "not started"
    //:end
}

template <class T>
int block_backward(gpt2_device &device, const kernel_table &kernels, T *stream, const block_weights<float> &gradients,
                   const block_weights<T> &weights, const kept<T> &kept, const backward_room<T> &room,
                   const int *lengths, const pass &pass, int H, int D) {
    //:todo 4b Back through the MLP's sub-layer.
    //: Goal      stream, the gradient of out = x1 + branch,
    //:           becomes that of x1; the MLP's and LayerNorm
    //:           2's parameter gradients are added to.
    //: Shapes    stream (N, C); room.dwide (N, 4C), room.dnormalised (N, C).
    //: Contract  every step reads the forward tensor that its forward step
    //:           read, from `kept`. Each bias's gradient is computed once.
    //: Question  stream reaches x1 by two paths. Where do they meet, and which arguments of
    //:           residual_layernorm_backward are they?
    //: Known     linear_backward<T>, where nullptr hides T from the compiler;
    //:           type_of<T>::kernels(kernels).bias_gelu_backward.
    //:solution
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
    TRY(op.residual_layernorm_backward(stream, g.ln2_weight, g.ln2_bias, narrow, stream, kept.middle, w.ln2_weight,
                                       kept.mean2, kept.rstd2, N, C, device.stream));
    //:end

    //:todo 4c Back through the attention's sub-layer.
    //: Goal      stream becomes the gradient of the block's input; the
    //:           projection's, qkv's and LayerNorm 1's gradients are added to.
    //: Shapes    qkv's gradient is (N, 3C).
    //: Given     attention_backward (gpt2/model/attention_backward.cuh), one call for all sequences.
    //:solution
    TRY(linear_backward(device, narrow, g.attention_weight, g.attention_bias, room.partial, stream, kept.attention,
                        w.attention_weight, N, C, C));
    TRY(attention_backward(device, kernels, wide, room.attention, narrow, kept.qkv, lengths, pass.B, pass.T, H, D));
    TRY(linear_backward(device, narrow, g.qkv_weight, g.qkv_bias, room.partial, wide, kept.normalised, w.qkv_weight, N,
                        C, 3 * C));
    return op.residual_layernorm_backward(stream, g.ln1_weight, g.ln1_bias, narrow, stream, kept.residual, w.ln1_weight,
                                          kept.mean, kept.rstd, N, C, device.stream);
    //:stub
    //: return cudaErrorNotSupported; // "not started"
    //:end
}

#define INSTANTIATE(T)                                                                                            \
    template int block_backward(gpt2_device &, const kernel_table &, T *, const block_weights<float> &,           \
                                const block_weights<T> &, const kept<T> &, const backward_room<T> &, const int *, \
                                const pass &, int, int);
FOR_EACH_TYPE(INSTANTIATE)
