// block_backward.cuh — the gradients of one transformer block: the template that lab 4's optional block_backward.cu defines
//
//   x1  = x + attention(LayerNorm1(x))         with projection and biases        x: kept.residual, x1: kept.middle
//   out = x1 + mlp(LayerNorm2(x1))
//
// Training has the same steps (training.cu), with its own memory.
#ifndef GPT2_BLOCK_BACKWARD_CUH
#define GPT2_BLOCK_BACKWARD_CUH

#include "gpt2/model/training.cuh"

// Scratch: undefined before and after the call.
template <class T> struct backward_room {
    T *dnormalised;              // (N, C)     the gradient of a LayerNorm's output, or of the attention's
    T *dwide;                    // (N, 4C)    the gradient of hidden and fc, or of qkv (N, 3C)
    attention_room<T> attention; // for all B sequences at once
    float *partial;              // (bias_most_parts, 4C)
};

// stream (N, C): the gradient of the block's output before the call, of its input after it
// gradients     : of the parameters, fp32; the results are added to them
// kept          : the results that the forward pass kept (training.cuh), read only
// lengths (B)   : the prompts' lengths, 1..T
template <class T>
int block_backward(gpt2_device &device, const kernel_table &kernels, T *stream, const block_weights<float> &gradients,
                   const block_weights<T> &weights, const kept<T> &kept, const backward_room<T> &room,
                   const int *lengths, const pass &pass, int H, int D);

#endif
