/* block_backward in float64: the tensors that a block keeps, the gradients from them, and known mistakes. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/elements.h"
#include "ops/predicates.h"
#include "ops/transformer/calls.h"

/* The gradients, in the order of transformer_block_names. */
enum { LN1 = 0, QKV = 2, ATTENTION = 4, LN2 = 6, FC = 8, MLP = 10, GRADIENTS = TRANSFORMER_BLOCK_TENSORS };

static const char *const gradient_names[GRADIENTS] = {
    "dln1_weight", "dln1_bias", "dqkv_weight", "dqkv_bias", "dattention_weight", "dattention_bias",
    "dln2_weight", "dln2_bias", "dfc_weight",  "dfc_bias",  "dmlp_weight",       "dmlp_bias"};

/* By stage. */
static const char *const kept_names[TRANSFORMER_KEPT] = {"residual", "normalised",  "qkv",   "attention",
                                                         "middle",   "normalised2", "fc",    "hidden",
                                                         "mean",     "rstd",        "mean2", "rstd2"};

/* The value of a parameter's gradient before the call. */
static struct field start(const struct op_call *call, enum transformer_mistake mistake, int at) {
    bool matrix = at == MLP || at == FC || at == ATTENTION || at == QKV;
    struct field before = call_field(call, gradient_names[at]);
    size_t count = op_elements(call->op, op_tensor_find(call->op, gradient_names[at]), call->sizes);
    if (mistake == TRANSFORMER_BACK_OVERWRITTEN || (mistake == TRANSFORMER_BACK_OVERWRITTEN_WEIGHTS && matrix)) {
        memset(before.value, 0, count * sizeof(double));
    }
    return before;
}

/* A gradient is never exact: even zeros are compared with a tolerance. */
static void finish(const struct op_call *call, const char *name, struct field field) {
    double *out = call_expected(call, name), *condition = call_condition(call, name);
    size_t count = op_elements(call->op, op_tensor_find(call->op, name), call->sizes);
    for (size_t i = 0; i < count; i++) {
        out[i] = field.value[i];
        if (condition) { condition[i] = isnan(out[i]) ? 0.0 : field.error[i] + DBL_MIN; }
    }
    field_free(field);
}

static void compute(const struct op_call *call, int mistake) {
    struct transformer w = call_transformer(call, mistake);
    struct transformer_block weights = call_block(call);
    struct field stream = call_field(call, "dout"), kept[TRANSFORMER_KEPT], gradient[GRADIENTS];
    double *values[TRANSFORMER_KEPT];
    /* A parameter's gradient is a float, so it contains every rounding of the 16-bit tensors before it. A call has
     * 100 000 of them, so each counts with its largest size, which is twice the usual one. */
    w.rounding *= 2.0;
    for (int i = 0; i < TRANSFORMER_KEPT; i++) {
        kept[i] = call_field(call, kept_names[i]);
        values[i] = kept[i].value;
    }
    for (int i = 0; i < GRADIENTS; i++) { gradient[i] = start(call, w.mistake, i); }
    transformer_block_backward(&w, &weights, values, stream, gradient);
    for (int i = 0; i < GRADIENTS; i++) { finish(call, gradient_names[i], gradient[i]); }
    finish(call, "dx", stream);
    for (int i = 0; i < TRANSFORMER_KEPT; i++) { field_free(kept[i]); }
}

struct rounded {
    enum op_type type;
    float *kept[TRANSFORMER_KEPT];
};

/* Keeps a stage as a device stores it; later stages use the rounded values. */
static void keep(void *context, enum transformer_stage stage, int layer, struct field values, size_t rows,
                 size_t columns) {
    struct rounded *rounded = context;
    enum op_type type = stage < STAGE_MEAN ? rounded->type : TYPE_F32;
    (void)layer;
    for (size_t i = 0; stage < TRANSFORMER_KEPT && i < rows * columns; i++) {
        values.value[i] = element_round(type, values.value[i]);
        rounded->kept[stage][i] = (float)values.value[i];
    }
}

/* Computes the kept tensors from the block's input and the parameters. */
static void complete(const struct op *op, const struct op_sizes *sizes, float *const tensor[]) {
    struct op_call call = {.op = op, .sizes = sizes, .tensor = (const float *const *)tensor};
    struct transformer w = call_transformer(&call, TRANSFORMER_RIGHT);
    struct transformer_block weights = call_block(&call);
    struct field residual = call_field(&call, "residual"), branch = call_field(&call, "residual"), none = {NULL, NULL};
    struct rounded rounded = {.type = sizes->type};
    for (int i = 0; i < TRANSFORMER_KEPT; i++) { rounded.kept[i] = tensor[op_tensor_find(op, kept_names[i])]; }
    w.observer = keep;
    w.context = &rounded;
    transformer_block(&w, &weights, 0, residual, branch, none, none, NULL);
    field_free(residual);
    field_free(branch);
}

static const struct op_mistake mistakes[] = {
    {.id = "attention-lengths-ignored", .compute = transformer_mistaken, .variant = {TRANSFORMER_LENGTHS_IGNORED}},
    {.id = "backward-order",
     .cause = "the gradients of the attention's sub-layer are computed first: the backward pass starts at the last "
              "one, the MLP",
     .hint = 1,
     .kernel = "block_backward/order",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_ORDER}},
    {.id = "backward-sum-missing",
     .cause = "the gradient of the residual stream is not added: pass it as dsum of residual_layernorm_backward",
     .hint = 1,
     .kernel = "block_backward/sum_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_NO_SUM_2, TRANSFORMER_BACK_NO_SUM_1, TRANSFORMER_BACK_NO_SUMS}},
    {.id = "backward-gelu-of-hidden",
     .cause = "GELU's derivative is taken at its output: take it at its input, fc plus the bias",
     .hint = 2,
     .kernel = "block_backward/gelu_of_hidden",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_GELU_OF_HIDDEN}},
    {.id = "backward-gelu-missing",
     .cause = "GELU's derivative is missing: call bias_gelu_backward between the two products",
     .hint = 2,
     .kernel = "block_backward/gelu_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_GELU_MISSING, TRANSFORMER_BACK_GELU_MISSING_SUMMED}},
    {.id = "backward-not-added",
     .cause = "a parameter's gradient overwrites the earlier value: add it (+=)",
     .hint = 2,
     .kernel = "block_backward/not_added",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_OVERWRITTEN, TRANSFORMER_BACK_OVERWRITTEN_WEIGHTS}},
    {.id = "backward-other-statistics",
     .cause =
         "a LayerNorm uses the other one's statistics: mean and rstd are of the first, mean2 and rstd2 of the second",
     .hint = 2,
     .kernel = "block_backward/other_statistics",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_STATISTICS_2, TRANSFORMER_BACK_STATISTICS_1, TRANSFORMER_BACK_STATISTICS}},
    {.id = "backward-other-sum",
     .cause = "a LayerNorm's backward pass reads another tensor than its input: residual for the first, middle for the "
              "second",
     .hint = 2,
     .kernel = "block_backward/other_sum",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_SUM_IS_NORMALISED, TRANSFORMER_BACK_SUM_2_IS_RESIDUAL,
                 TRANSFORMER_BACK_SUM_1_IS_MIDDLE}},
    {.id = "backward-other-weight",
     .cause =
         "a dx of the MLP uses the other product's weight, which has as many elements: dx = dout W, with the same W",
     .hint = 3,
     .kernel = "block_backward/other_weight",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_MLP_BY_FC, TRANSFORMER_BACK_FC_BY_MLP, TRANSFORMER_BACK_MLP_EXCHANGED}},
    {.id = "backward-transposed",
     .cause = "the projection's dx uses the transposed weight: matmul_dx computes dout W, not dout W^T",
     .hint = 3,
     .kernel = "block_backward/transposed",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_TRANSPOSED}},
    {.id = "backward-projection-missing",
     .cause = "the attention's backward pass gets the branch's gradient: it needs the gradient of its own output",
     .hint = 2,
     .kernel = "block_backward/projection_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_PROJECTION_MISSING}},
    {.id = "backward-bias-missing",
     .cause = "the gradient of a bias is missing: bias_backward adds the column sums of the product's dout",
     .hint = 3,
     .kernel = "block_backward/bias_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_NO_MLP_BIAS, TRANSFORMER_BACK_NO_ATTENTION_BIAS, TRANSFORMER_BACK_NO_QKV_BIAS,
                 TRANSFORMER_BACK_NO_BIASES}},
    {.id = "backward-fc-bias-twice",
     .cause = "the gradient of fc's bias is added twice: by bias_gelu_backward, and again by bias_backward",
     .hint = 3,
     .kernel = "block_backward/fc_bias_twice",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_FC_BIAS_TWICE}},
    {.id = "backward-other-input",
     .cause = "a weight's gradient uses another tensor than the product's input: dW += dout^T x, with that product's x",
     .hint = 2,
     .kernel = "block_backward/other_input",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_MLP_OF_FC, TRANSFORMER_BACK_FC_OF_1, TRANSFORMER_BACK_FC_OF_MIDDLE,
                 TRANSFORMER_BACK_QKV_OF_2, TRANSFORMER_BACK_QKV_OF_RESIDUAL, TRANSFORMER_BACK_ATTENTION_OF_2}},
    {.id = "backward-stream-not-passed",
     .cause = "the attention's sub-layer gets the gradient that entered the MLP's: pass the one that the MLP's returns",
     .hint = 2,
     .kernel = "block_backward/stream_not_passed",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_STREAM_NOT_PASSED}},
    {.id = NULL},
};

/* ---- the first wrong gradient ---- */

/* `argument`: the index of the weight in gradient_names, where its bias follows it; GRADIENTS means dx. */
static bool shows_gradient(const struct evidence *evidence, int argument) {
    int first = -1; /* those before it are right in every call */
    if (shows_untouched(evidence, 0) || shows_low_precision(evidence, 0)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        if (!evidence_case_is_wrong(evidence->cases[i])) { continue; }
        int here = transformer_first_wrong(evidence, evidence->cases[i]);
        first = first < 0 || here < first ? here : first;
    }
    const char *name = first < 0 ? "" : evidence->op->tensor[first].name;
    if (argument == GRADIENTS) { return strcmp(name, "dx") == 0; }
    return strcmp(name, gradient_names[argument]) == 0 || strcmp(name, gradient_names[argument + 1]) == 0;
}

static const struct op_mistake shown[] = {
    {.id = "backward-mlp",
     .fact = "the MLP's gradients are the first to be wrong: check its two products and GELU between them",
     .hint = 2,
     .kernel = "block_backward/branch_of_middle",
     .predicate = shows_gradient,
     .argument = MLP,
     .stage = MISTAKE_PLACED},
    {.id = "backward-fc",
     .fact =
         "the second product's gradients are right, the first's are wrong: check GELU's backward pass and its inputs",
     .hint = 2,
     .kernel = "block_backward/fc_of_residual",
     .predicate = shows_gradient,
     .argument = FC,
     .stage = MISTAKE_PLACED},
    {.id = "backward-layernorm-2",
     .fact =
         "the MLP's gradients are right, LayerNorm 2's are wrong: check its dout and the other tensors passed to it",
     .hint = 2,
     .kernel = "block_backward/ln2_gradients_swapped",
     .predicate = shows_gradient,
     .argument = LN2,
     .stage = MISTAKE_PLACED},
    {.id = "backward-attention",
     .fact =
         "the MLP's sub-layer is right, the attention's is wrong: check the sum after LayerNorm 2 and the projection",
     .hint = 2,
     .kernel = "block_backward/projection_of_normalised",
     .predicate = shows_gradient,
     .argument = ATTENTION,
     .stage = MISTAKE_PLACED},
    {.id = "backward-qkv",
     .fact = "the projection's gradients are right, qkv's are wrong: check attention_backward and its arguments",
     .hint = 2,
     .kernel = "block_backward/first_sequence",
     .predicate = shows_gradient,
     .argument = QKV,
     .stage = MISTAKE_PLACED},
    {.id = "backward-layernorm-1",
     .fact = "qkv's gradients are right, LayerNorm 1's are wrong: check its dout and the other tensors passed to it",
     .hint = 2,
     .kernel = "block_backward/ln1_gradients_swapped",
     .predicate = shows_gradient,
     .argument = LN1,
     .stage = MISTAKE_PLACED},
    {.id = "backward-dx",
     .fact = "the gradients of all parameters are right, dx is wrong: check the last sum",
     .hint = 2,
     .kernel = "block_backward/last_sum_of_narrow",
     .predicate = shows_gradient,
     .argument = GRADIENTS,
     .stage = MISTAKE_PLACED},
    {.id = NULL},
};

const struct op_reference op_reference_block_backward = {
    .compute = compute,
    .fill = transformer_fill,
    .complete = complete,
    .mistakes = {transformer_mistakes_reported, mistakes, transformer_mistakes_shown, shown},
};
