// block_backward.cuh — the gradients of one transformer block: what lab 4's optional `block_backward.cu` promises
//
//   x1  = x + attention(LayerNorm1(x))         with projection and biases        x: kept.residual, x1: kept.middle
//   out = x1 + mlp(LayerNorm2(x1))
//
// Training has the same steps (backward.cu), around its own memory.
#ifndef GPT2_BLOCK_BACKWARD_CUH
#define GPT2_BLOCK_BACKWARD_CUH

#include "gpt2/model/training.cuh"

// Memory to work in, which holds nothing before and after.
template <class T> struct backward_room {
    T *dnormalised;              // (N, C)     of what a LayerNorm gave, and of the attention's output
    T *dwide;                    // (N, 4C)    of hidden and fc; of qkv (N, 3C)
    attention_room<T> attention; // for all B sequences at once
    float *partial;              // (bias_most_parts, 4C)
};

// stream (N, C): the gradient of the block's output before the call, of its input after it
// gradients     : of the parameters, fp32; what is computed is added to what they hold
// kept          : what the forward pass kept (training.cuh); it stays as it is
// lengths (B)   : of the prompts, 1..T
template <class T>
int block_backward(gpt2_device &device, const kernel_table &kernels, T *stream, const block_weights<float> &gradients,
                   const block_weights<T> &weights, const kept<T> &kept, const backward_room<T> &room,
                   const int *lengths, const pass &pass, int H, int D);

#endif
