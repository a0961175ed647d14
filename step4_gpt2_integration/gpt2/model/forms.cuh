// forms.cuh — which form of attention and decoding a model takes, decided once when it is opened
//
//                 taught                                    fused
//   attention     two products and the causal softmax       one kernel, no scores in memory (attention_fused.cuh); and GELU in
//   (prompts)                                               the epilogue of its product
//   decode        8 launches a block: cuBLASLt, the set's   5 a block: weights streamed past a few rows (gemv.cuh), keys split
//   (a step)      LayerNorm and GELU, a block a head        over blocks (decode_split.cuh); larger batches: block_fused.cuh
//
// The fused forms have the softmax, LayerNorm and GELU inside their kernels, so auto is taught for any set but the reference:
// who chooses another wants to see it run. Larger batches and widths that a kernel does not take go the taught way.
#ifndef GPT2_FORMS_CUH
#define GPT2_FORMS_CUH

#include "gpt2/model/device.cuh"

struct model_forms {
    bool attention_fused; // prompts
    bool tensor_cores;    // in fused attention
    bool decode_fused;    // steps, as far as decode_step_takes (decode_fused.cuh); and the attention of all steps
    int decode_rows;      // most of them for steps; larger batches go through the library's products
    int parts;            // of the cache that may be under way at once: decode_split.cuh
};

template <class T>
model_forms choose_forms(const gpt2_device &device, const gpt2_model_options &options, const gpt2_config &config);

// Of training, forward and backward (attention_fused_backward.cuh): attention is fused for bf16, from sm_80 on; auto
// chooses it where it may, by the same rule. False: it was asked for and cannot be.
template <class T>
bool choose_training_forms(model_forms &forms, const gpt2_device &device, gpt2_form attention,
                           const kernel_table &kernels, const gpt2_config &config);

#endif
