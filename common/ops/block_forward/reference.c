/* block_forward in float64, and the mistakes of a block, which a model can have too. */
#include <stdlib.h>

#include "ops/transformer/calls.h"

/* In the test of a later layer, the other layers' parameters are 0, and their caches are no outputs. */
static void compute(const struct op_call *call, int mistake) {
    struct transformer w = call_transformer(call, mistake);
    struct transformer_block weights = call_block(call);
    struct field k = call_field(call, "k"), v = call_field(call, "v");
    struct field residual = call_field(call, "residual"), branch = call_field(call, "branch");
    bool has_neighbour = call->sizes->L > 0;
    size_t C = (size_t)call->sizes->C;
    float *zeros = calloc(4 * C * C, sizeof *zeros);
    if (!zeros) { abort(); }
    if (has_neighbour && mistake == TRANSFORMER_WEIGHTS_OF_LAYER_0) {
        weights = (struct transformer_block){zeros, zeros, zeros, zeros, zeros, zeros,
                                             zeros, zeros, zeros, zeros, zeros, zeros};
    }
    transformer_block(&w, &weights, call->sizes->L, residual, branch, k, v, NULL);
    if (has_neighbour && mistake == TRANSFORMER_CACHE_OF_LAYER_0) {
        field_free(k);
        field_free(v);
        k = call_field(call, "k");
        v = call_field(call, "v");
    }
    call_finish(call, "k", k);
    call_finish(call, "v", v);
    call_finish(call, "residual", residual);
    call_finish(call, "branch", branch);
    free(zeros);
}

const struct op_mistake block_mistakes[] = {
    {.id = "block-parallel",
     .cause = "LayerNorm 2 reads a residual without the attention's branch: add the branch before LayerNorm 2",
     .hint = 1,
     .kernel = "block_forward/parallel",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_PARALLEL}},
    {.id = "block-branch-forgotten",
     .cause = "the previous block's branch is not added: from layer 1 on, residual += branch comes first",
     .hint = 1,
     .kernel = "block_forward/branch_forgotten",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BRANCH_FORGOTTEN}},
    {.id = "block-attention-forgotten",
     .cause = "the attention's branch is never added to the residual",
     .hint = 1,
     .kernel = "block_forward/attention_forgotten",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_ATTENTION_FORGOTTEN}},
    {.id = "block-residual-not-written",
     .cause = "the sum is normalised but not stored: write it to residual, to which the MLP's branch is added",
     .hint = 2,
     .kernel = "block_forward/residual_not_written",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_RESIDUAL_NOT_WRITTEN}},
    {.id = "block-ln1-missing",
     .cause = "qkv is computed from the residual: its input is LayerNorm 1's output",
     .hint = 2,
     .kernel = "block_forward/ln1_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_LN1_MISSING}},
    {.id = "block-ln2-of-branch",
     .cause = "LayerNorm 2 normalises the branch alone: its input is residual + branch",
     .hint = 2,
     .kernel = "block_forward/ln2_of_branch",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_LN2_OF_BRANCH}},
    {.id = "block-layernorms-swapped",
     .cause = "the weights and biases of the two LayerNorms are exchanged",
     .hint = 3,
     .kernel = "block_forward/layernorms_swapped",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_LN_SWAPPED}},
    {.id = "block-residual-normalised",
     .cause = "the branch is added to LayerNorm 1's output: add it to residual, which is never normalised",
     .hint = 2,
     .kernel = "block_forward/post_layernorm",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_RESIDUAL_NORMALISED}},
    {.id = "block-weight-transposed",
     .cause = "the attention's projection uses its weight transposed: weights are stored as (out, in)",
     .hint = 3,
     .kernel = "block_forward/weight_transposed",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_WEIGHT_TRANSPOSED}},
    {.id = "block-projection-missing",
     .cause = "the attention's output is added without its projection",
     .hint = 2,
     .kernel = "block_forward/projection_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_PROJECTION_MISSING}},
    {.id = "block-qkv-bias-missing",
     .cause = "the bias of qkv is missing",
     .hint = 3,
     .kernel = "block_forward/qkv_bias_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_QKV_BIAS_MISSING}},
    {.id = "block-attention-bias-missing",
     .cause = "the bias of the attention's projection is missing",
     .hint = 3,
     .kernel = "block_forward/attention_bias_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_ATTENTION_BIAS_MISSING}},
    {.id = "block-fc-bias-missing",
     .cause = "the bias before GELU is missing",
     .hint = 3,
     .kernel = "block_forward/fc_bias_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_FC_BIAS_MISSING}},
    {.id = "block-fc-bias-twice",
     .cause = "the bias before GELU is added twice: bias_gelu adds it, so the product must not",
     .hint = 3,
     .kernel = "block_forward/fc_bias_twice",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_FC_BIAS_TWICE}},
    {.id = "block-mlp-bias-missing",
     .cause = "the bias of the MLP's second product is missing",
     .hint = 3,
     .kernel = "block_forward/mlp_bias_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_MLP_BIAS_MISSING}},
    {.id = "block-gelu-missing",
     .cause = "the MLP has no GELU between its products",
     .hint = 2,
     .kernel = "block_forward/gelu_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_GELU_MISSING}},
    {.id = "block-gelu-erf",
     .cause = "GELU is computed with erf: GPT-2 uses the tanh form, which bias_gelu computes",
     .hint = 2,
     .kernel = "block_forward/gelu_erf",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_GELU_ERF}},
    {.id = "block-branches-added",
     .cause = "branch holds the sum of both branches: it must hold the MLP's alone, since residual has the attention's",
     .hint = 2,
     .kernel = "block_forward/branches_added",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BRANCHES_ADDED}},
    {.id = "block-eps-fixed",
     .cause = "eps is fixed in the code: use all.config.epsilon",
     .hint = 3,
     .kernel = "block_forward/eps_fixed",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_EPS_FIXED}},
    {.id = NULL},
};

/* Of a block among others. */
static const struct op_mistake mistakes[] = {
    {.id = "block-branch-in-layer-0",
     .cause = "layer 0 adds branch, which is uninitialised there: add it from layer 1 on",
     .hint = 2,
     .kernel = "block_forward/branch_in_layer_0",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BRANCH_IN_LAYER_0}},
    {.id = NULL},
};

const struct op_reference op_reference_block_forward = {
    .compute = compute,
    .fill = transformer_fill,
    .mistakes = {transformer_mistakes_reported, attention_mistakes, prompt_mistakes, block_mistakes, mistakes,
                 model_mistakes, cache_mistakes, transformer_mistakes_shown},
};
