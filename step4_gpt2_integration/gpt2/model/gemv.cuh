// gemv.cuh — y = x W^T for a few rows of x: what `gemv.cu` promises
//
//   x' = LayerNorm(x), or x        y = gelu?(x' W^T + bias) + residual
//
// One launch does what a product, the LayerNorm before it, and the bias, GELU or residual add after it need four for.
#ifndef GPT2_GEMV_CUH
#define GPT2_GEMV_CUH

#include "gpt2/model/device.cuh"

constexpr int most_gemv_rows = 8;

template <class Out, class T> struct gemv_task {
    Out *out;        // (N, OC), a row every ld elements; may be residual
    const T *x;      // (N, C)
    const T *weight; // (OC, C)
    const T *bias;   // (OC), or null
    int N, C, OC, ld;
    const T *layernorm_weight = nullptr, *layernorm_bias = nullptr; // (C), or both null: x as it is
    float epsilon = 0.0f;
    bool gelu = false;             // after the bias; the tanh form
    const Out *residual = nullptr; // (N, OC), a row every ld elements, or null
    // The end of a decoding step: positions[n] += 1 where tokens[n] is not negative, as far as S - 1. Null: no step ends.
    int *positions = nullptr;
    const int *tokens = nullptr;
    int S = 0;
};

// Does it take the task: rows of 16-byte pieces, N <= most_gemv_rows, room in shared memory for the LayerNorm's result?
template <class Out, class T> bool gemv_takes(const gemv_task<Out, T> &task);
template <class Out, class T> int gemv(gpt2_device &device, const gemv_task<Out, T> &task);

#endif
