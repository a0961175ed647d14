// activation.cuh — the activations of GPT-2's relatives: GELU by erf, and ReLU
//
// The labs teach GPT-2's GELU, the tanh form. A model with another activation replaces two ops of its kernel table by the
// kernels of activation.cu, which have the same signatures. So every form, set and lab file computes it, whatever set was
// chosen.
#ifndef GPT2_ACTIVATION_CUH
#define GPT2_ACTIVATION_CUH

#include "gpt2/kernels/table.h"
#include "gpt2/model/model.h"

#include <cmath>

// Replaces bias_gelu_forward and bias_gelu_backward, in all types; with GPT2_GELU_TANH nothing.
void use_activation(kernel_table &kernels, gpt2_activation activation);

__device__ inline float activate(float u, gpt2_activation activation) {
    switch (activation) {
        case GPT2_GELU_ERF: return 0.5f * u * (1.0f + erff(u * 0.7071067811865476f)); // 1 / sqrt(2)
        case GPT2_RELU: return u <= 0.0f ? 0.0f : u;                                  // a NaN stays one
        case GPT2_GELU_TANH: break;
    }
    // 0.5 u (1 + tanh(z)) = u / (1 + exp(-2 z)), with z = sqrt(2 / pi) (u + 0.044715 u^3). exp may be infinite: the quotient is
    // zero then.
    return __fdividef(u, 1.0f + __expf(-1.5957691216057308f * (u + 0.044715f * u * u * u)));
}

#endif
