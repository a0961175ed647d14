// forms.cuh — the form of attention and decoding that a model uses, chosen once when the model is opened
//
//                 taught                                    fused
//   attention     two products and the causal softmax       one kernel, no scores in memory (attention_fused.cuh); and GELU in
//   (prompts)                                               the epilogue of its product. In 16-bit types the products before a
//                                                           residual add to the stream: with the reference set, in one rank,
//                                                           without activations in 8 bits
//   rows: as in the fused block, with a thread per row in softmax and LayerNorm, and scores in memory: those of 128 queries in
//   prompts, and in decoding those of the new tokens (rows.cuh)
//   decode        8 launches a block: cuBLASLt, the set's   5 a block: weights streamed past a few rows (gemv.cuh), keys split
//   (a step)      LayerNorm and GELU, a block a head        over blocks (decode_split.cuh); larger batches: block_fused
//   persistent: steps of one sequence whose tokens the device chooses, in one launch for many (decode_persistent.cuh); others
//   as in fused. `auto` chooses it for 16-bit types on compute capability 9.0
//
// A divided model (gpt2_division) has every form but the persistent one. Its taught and rows forms use block_fused, whose sums
// over the ranks lab 4's block does not have.
// With weights in 8 bits (eight_bits.cuh) `auto` means the persistent form where it does without them, if they are int8;
// else the fused form of decoding, on the CPU backend too.
// The fused forms contain softmax, LayerNorm and GELU, so they bypass the kernel set. `auto` therefore means taught for every set
// but the reference. With that set it means rows on the CPU backend. Batches and widths that a fused kernel does not support
// use the taught form.
#ifndef GPT2_FORMS_CUH
#define GPT2_FORMS_CUH

#include "gpt2/model/device.cuh"

struct model_forms {
    bool attention_fused;    // prompts
    bool attention_rows;     // in the fused block: attention and LayerNorm have a thread per row (rows.cuh)
    bool adds_in_products;   // prompts in the fused block: residual adds are in the products before them
    bool tensor_cores;       // in fused attention
    bool epilogues;          // training: GELU and its gradient in the epilogues of products (matmul.cuh)
    bool decode_rows;        // steps use the fused block as attention_rows do
    bool decode_fused;       // steps, where decode_step_takes (block_fused.cuh); and the attention of all steps
    bool decode_persistent;  // steps of one sequence: decode_persistent.cuh
    size_t persistent_bytes; // that it needs
    int most_rows;           // largest batch of a fused step; larger ones use cuBLASLt's products
    int together;            // prompts whose activations are in memory at once; 0: all
    int parts;               // of the cache that blocks read at the same time, at most: decode_split.cuh
};

template <class T>
model_forms choose_forms(const gpt2_device &device, const gpt2_model_options &options, const gpt2_config &config);

// The form of attention in training, forward and backward, and with it whether products have epilogues in place of the set's
// kernels. The fused form exists for bf16, from sm_80 on; `auto` chooses it there by the same rule. False: the fused form was
// requested and does not exist here.
template <class T>
bool choose_training_forms(model_forms &forms, const gpt2_device &device, gpt2_form attention,
                           const kernel_table &kernels, const gpt2_config &config);

#endif
