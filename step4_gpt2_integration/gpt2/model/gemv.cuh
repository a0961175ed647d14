// gemv.cuh — y = x W^T for a few rows of x, with what surrounds the product in a decoding step
//
//   x' = LayerNorm(x), or x        y = activation?(x' W^T + bias) + residual
//
// One launch in place of four: a LayerNorm, the product, the bias and the activation, the residual add.
#ifndef GPT2_GEMV_CUH
#define GPT2_GEMV_CUH

#include "gpt2/model/eight_bits.cuh"
#include "gpt2/model/model.h"

constexpr int most_gemv_rows = 8;

// W: T, or codes of 8 bits (eight_bits.cuh), which have a scale for each row.
template <class Out, class T, class W = T> struct gemv_task {
    Out *out;        // (N, OC), a row every ld elements; may alias residual
    const T *x;      // (N, C)
    const W *weight; // (OC, C)
    const T *bias;   // (OC), or null
    int N, C, OC, ld;
    const float *scales = nullptr;                                  // (OC), or null: no codes
    const T *layernorm_weight = nullptr, *layernorm_bias = nullptr; // (C), or both null: x is not normalised
    float epsilon = 0.0f;
    bool activated = false; // after the bias
    gpt2_activation activation = GPT2_GELU_TANH;
    const Out *residual = nullptr; // (N, OC), a row every ld elements, or null
    // For the last product of a step: positions[n] += 1, up to S - 1, where tokens[n] is not negative. Null: another product.
    int *positions = nullptr;
    const int *tokens = nullptr;
    int S = 0;
};

// Does it support the task? Rows are multiples of 16 bytes, N <= most_gemv_rows, the normalised rows fit in shared memory.
template <class Out, class T, class W> bool gemv_takes(const gemv_task<Out, T, W> &task);
template <class Out, class T, class W> int gemv(gpt2_device &device, const gemv_task<Out, T, W> &task);

#endif
