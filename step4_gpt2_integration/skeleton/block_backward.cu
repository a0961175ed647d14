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
    // TODO 4a (3 lines): The three gradients of y = x weight^T + bias, where y is (N, OC).
    //   bias_backward (gpt2/model/bias_backward.cuh), unless dbias is null; matmul_dweight and matmul_dx (gpt2/model/matmul.cuh).
    //   All three read dout. partial is scratch memory for bias_backward; the rows of dout are OC wide, so ld is OC.
    return cudaErrorNotSupported; // "not started"
}

template <class T>
int block_backward(gpt2_device &device, const kernel_table &kernels, T *stream, const block_weights<float> &gradients,
                   const block_weights<T> &weights, const kept<T> &kept, const backward_room<T> &room,
                   const int *lengths, const pass &pass, int H, int D) {
    // TODO 4b (12 lines): Back through the MLP's sub-layer: its second product, GELU, its first product, LayerNorm 2.
    //   Short names first: op = type_of<T>::kernels(kernels), the kernel set's table; N = pass.N(), C = H * D; and of the
    //   structs as you like: gradients and weights have the same names, kept and room are in training.cuh and block_backward.cuh.
    //   stream is the gradient of out = x1 + branch, so it is the branch's gradient too, and also bypasses the sub-layer.
    //   The second product (4C to C) leaves hidden's gradient in room.dwide. op.bias_gelu_backward turns it into fc's, in place,
    //   and adds fc's bias's gradient: so the first product (C to 4C) gets nullptr for it (linear_backward<T>, as the compiler
    //   cannot guess T then), and leaves room.dnormalised. Last op.residual_layernorm_backward, in place: dout is the gradient
    //   that came through the sub-layer, dsum the one that bypassed it. The other tensors are inputs and statistics of the second
    //   LayerNorm, not its output.

    // TODO 4c (7 lines): Back through the attention's sub-layer: its projection, attention, qkv's product, LayerNorm 1.
    //   stream is x1's gradient now. The projection leaves that of the attention's output in room.dnormalised;
    //   attention_backward (gpt2/model/attention_backward.cuh) computes from it that of qkv (3C wide) in room.dwide, for all
    //   pass.B sequences of pass.T tokens in one call; qkv's product leaves that of LayerNorm 1's output; LayerNorm 1 ends as 4b
    //   does.
    return cudaErrorNotSupported; // "not started"
}

#define INSTANTIATE(T)                                                                                            \
    template int block_backward(gpt2_device &, const kernel_table &, T *, const block_weights<float> &,           \
                                const block_weights<T> &, const kept<T> &, const backward_room<T> &, const int *, \
                                const pass &, int, int);
FOR_EACH_TYPE(INSTANTIATE)
