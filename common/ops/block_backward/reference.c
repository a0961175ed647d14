/* block_backward in float64: the tensors that a block keeps, the gradients from them, and known mistakes. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/elements.h"
#include "ops/predicates.h"
#include "ops/transformer/transformer.h"

/* ---- forward ---- */

/* The next kept tensor, as stored on the device: rounded, with errors of 0. */
static struct field keep(enum op_type type, float *kept, struct field computed, size_t count) {
    for (size_t i = 0; i < count; i++) { kept[i] = (float)element_round(type, computed.value[i]); }
    field_free(computed);
    return field_of(kept, count);
}

/* out (N, C), mean and rstd (N) */
static struct field keep_layernorm(const struct transformer *w, enum op_type type, float *out, float *mean, float *rstd,
                                   struct field x, const float *rows, const float *weight, const float *bias) {
    int N = w->B * w->T, C = w->C;
    struct field normal = field_make((size_t)(N * C));
    transformer_layernorm(w, normal, x, weight, bias, N);
    for (int n = 0; n < N; n++) {
        double row_mean, row_rstd;
        reference_row_statistics(rows + n * C, C, w->eps, &row_mean, &row_rstd);
        mean[n] = (float)row_mean;
        rstd[n] = (float)row_rstd;
    }
    return keep(type, out, normal, (size_t)(N * C));
}

static struct field linear(const struct transformer *w, struct field x, const float *weight, const float *bias, int C,
                           int OC) {
    int N = w->B * w->T;
    struct field out = field_make((size_t)(N * OC));
    transformer_linear(w, out, x, weight, bias, N, C, OC);
    return out;
}

void transformer_keep(const struct op_sizes *sizes, const float *lengths, const struct transformer_block *p,
                      float *const kept[TRANSFORMER_KEPT_TENSORS]) {
    struct transformer w = transformer_of(sizes, lengths, TRANSFORMER_RIGHT);
    enum op_type type = sizes->type;
    int N = w.B * w.T, C = w.C;
    size_t count = (size_t)(N * C), cached = (size_t)(w.B * w.S * C);
    struct field k = field_make(cached), v = field_make(cached), attention = field_make(count);
    struct field residual = field_of(kept[0], count);
    struct field normal =
        keep_layernorm(&w, type, kept[1], kept[8], kept[9], residual, kept[0], p->ln1_weight, p->ln1_bias);
    struct field qkv = keep(type, kept[2], linear(&w, normal, p->qkv_weight, p->qkv_bias, C, 3 * C), 3 * count);
    transformer_attention(&w, attention, k, v, qkv);
    attention = keep(type, kept[3], attention, count);
    struct field branch = linear(&w, attention, p->attention_weight, p->attention_bias, C, C);
    transformer_add(&w, branch, residual, branch, count);
    struct field middle = keep(type, kept[4], branch, count);
    struct field normal2 =
        keep_layernorm(&w, type, kept[5], kept[10], kept[11], middle, kept[4], p->ln2_weight, p->ln2_bias);
    struct field fc = keep(type, kept[6], linear(&w, normal2, p->fc_weight, NULL, C, 4 * C), 4 * count);
    transformer_bias_gelu(&w, fc, p->fc_bias, N, 4 * C);
    field_free(keep(type, kept[7], fc, 4 * count));
    struct field made[] = {k, v, attention, residual, normal, qkv, middle, normal2};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) { field_free(made[i]); }
}

/* ---- backward ---- */

/* Indices of the gradients, in the order of the op's tensors. */
enum { MLP, FC = 2, LN2 = 4, ATTENTION = 6, QKV = 8, LN1 = 10, GRADIENTS = 12 };

static const char *const gradient_names[GRADIENTS] = {
    "dmlp_weight",       "dmlp_bias",       "dfc_weight",  "dfc_bias",  "dln2_weight", "dln2_bias",
    "dattention_weight", "dattention_bias", "dqkv_weight", "dqkv_bias", "dln1_weight", "dln1_bias"};

static const char *const kept_names[TRANSFORMER_KEPT_TENSORS] = {"residual", "normalised",  "qkv",   "attention",
                                                                 "middle",   "normalised2", "fc",    "hidden",
                                                                 "mean",     "rstd",        "mean2", "rstd2"};

struct back {
    const struct transformer *w;
    const struct transformer_kept *kept;
    const struct transformer_block *p;
    struct field gradient[GRADIENTS]; /* of the weights, each followed by its bias */
    struct field stream;              /* (N, C) */
    struct field narrow;              /* (N, C)    of a LayerNorm's output, and of the attention's */
    struct field wide;                /* (N, 4C)   of hidden and fc; of qkv */
    int N, C;
};

static bool is(const struct back *b, enum transformer_mistake mistake) {
    return b->w->mistake == mistake;
}

/* A linear layer's gradients; x_weight is the weight that computes dx. */
static void linear_backward(struct back *b, int at, struct field dx, struct field dout, const float *x,
                            const float *x_weight, bool biased, int C, int OC) {
    if (biased) { transformer_linear_dbias(b->gradient[at + 1], dout, b->N, OC); }
    transformer_linear_dweight(b->gradient[at], dout, x, b->N, C, OC);
    transformer_linear_dx(b->w, dx, dout, x_weight, b->N, C, OC);
}

static void gelu_backward(struct back *b) {
    const float *x = is(b, TRANSFORMER_BACK_GELU_OF_HIDDEN) ? b->kept->hidden : b->kept->fc;
    struct field dbias = b->gradient[FC + 1];
    if (is(b, TRANSFORMER_BACK_GELU_MISSING)) { return; }
    if (is(b, TRANSFORMER_BACK_GELU_MISSING_SUMMED)) {
        transformer_linear_dbias(dbias, b->wide, b->N, 4 * b->C);
        return;
    }
    transformer_gelu_backward(b->w, b->wide, dbias, b->wide, x, b->p->fc_bias, b->N, 4 * b->C);
    if (is(b, TRANSFORMER_BACK_FC_BIAS_TWICE)) { transformer_linear_dbias(dbias, b->wide, b->N, 4 * b->C); }
}

static void layernorm_backward(struct back *b, int at, const struct transformer_norm *norm, bool sum_forgotten) {
    struct field none = {NULL, NULL}, dsum = sum_forgotten || is(b, TRANSFORMER_BACK_NO_SUMS) ? none : b->stream;
    transformer_layernorm_backward(b->w, b->stream, b->gradient[at], b->gradient[at + 1], b->narrow, dsum, norm);
}

static void mlp_backward(struct back *b) {
    const struct transformer_kept *k = b->kept;
    const struct transformer_block *p = b->p;
    bool other = is(b, TRANSFORMER_BACK_STATISTICS_2) || is(b, TRANSFORMER_BACK_STATISTICS);
    bool exchanged = is(b, TRANSFORMER_BACK_MLP_EXCHANGED), biased = true;
    struct transformer_norm norm = {k->middle, other ? k->mean : k->mean2, other ? k->rstd : k->rstd2, p->ln2_weight};
    const float *fc_x = k->normalised2;
    if (is(b, TRANSFORMER_BACK_NO_MLP_BIAS) || is(b, TRANSFORMER_BACK_NO_BIASES)) { biased = false; }
    if (is(b, TRANSFORMER_BACK_FC_OF_1)) { fc_x = k->normalised; }
    if (is(b, TRANSFORMER_BACK_FC_OF_MIDDLE)) { fc_x = k->middle; }
    if (is(b, TRANSFORMER_BACK_SUM_IS_NORMALISED)) { norm.x = k->normalised2; }
    if (is(b, TRANSFORMER_BACK_SUM_2_IS_RESIDUAL)) { norm.x = k->residual; }
    linear_backward(b, MLP, b->wide, b->stream, is(b, TRANSFORMER_BACK_MLP_OF_FC) ? k->fc : k->hidden,
                    exchanged || is(b, TRANSFORMER_BACK_MLP_BY_FC) ? p->fc_weight : p->mlp_weight, biased, 4 * b->C,
                    b->C);
    gelu_backward(b);
    linear_backward(b, FC, b->narrow, b->wide, fc_x,
                    exchanged || is(b, TRANSFORMER_BACK_FC_BY_MLP) ? p->mlp_weight : p->fc_weight, false, b->C,
                    4 * b->C);
    layernorm_backward(b, LN2, &norm, is(b, TRANSFORMER_BACK_NO_SUM_2));
}

static void attention_backward(struct back *b, struct field stream) {
    const struct transformer_kept *k = b->kept;
    const struct transformer_block *p = b->p;
    bool other = is(b, TRANSFORMER_BACK_STATISTICS_1) || is(b, TRANSFORMER_BACK_STATISTICS),
         none = is(b, TRANSFORMER_BACK_NO_BIASES);
    struct transformer_norm norm = {k->residual, other ? k->mean2 : k->mean, other ? k->rstd2 : k->rstd, p->ln1_weight};
    const float *qkv_x = k->normalised;
    if (is(b, TRANSFORMER_BACK_QKV_OF_2)) { qkv_x = k->normalised2; }
    if (is(b, TRANSFORMER_BACK_QKV_OF_RESIDUAL)) { qkv_x = k->residual; }
    if (is(b, TRANSFORMER_BACK_SUM_IS_NORMALISED)) { norm.x = k->normalised; }
    if (is(b, TRANSFORMER_BACK_SUM_1_IS_MIDDLE)) { norm.x = k->middle; }
    linear_backward(b, ATTENTION, b->narrow, stream,
                    is(b, TRANSFORMER_BACK_ATTENTION_OF_2) ? k->normalised2 : k->attention, p->attention_weight,
                    !none && !is(b, TRANSFORMER_BACK_NO_ATTENTION_BIAS), b->C, b->C);
    if (is(b, TRANSFORMER_BACK_TRANSPOSED)) {
        transformer_linear(b->w, b->narrow, stream, p->attention_weight, NULL, b->N, b->C, b->C);
    }
    transformer_attention_backward(b->w, b->wide, is(b, TRANSFORMER_BACK_PROJECTION_MISSING) ? stream : b->narrow,
                                   k->qkv);
    linear_backward(b, QKV, b->narrow, b->wide, qkv_x, p->qkv_weight, !none && !is(b, TRANSFORMER_BACK_NO_QKV_BIAS),
                    b->C, 3 * b->C);
    layernorm_backward(b, LN1, &norm, is(b, TRANSFORMER_BACK_NO_SUM_1));
}

static void block_backward(struct back *b) {
    struct field before = field_make((size_t)(b->N * b->C));
    memcpy(before.value, b->stream.value, (size_t)(b->N * b->C) * sizeof(double));
    if (is(b, TRANSFORMER_BACK_ORDER)) { attention_backward(b, b->stream); }
    mlp_backward(b);
    if (!is(b, TRANSFORMER_BACK_ORDER)) {
        attention_backward(b, is(b, TRANSFORMER_BACK_STREAM_NOT_PASSED) ? before : b->stream);
    }
    field_free(before);
}

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
    struct transformer_kept kept = call_kept(call);
    struct transformer_block weights = call_block(call);
    size_t N = (size_t)call->sizes->N, C = (size_t)call->sizes->C;
    /* A parameter's gradient is a float, so it contains every rounding of the 16-bit tensors before it. A call has
     * 100 000 of them, so each counts with its largest size, which is twice the usual one. */
    w.rounding *= 2.0;
    struct back b = {.w = &w,
                     .kept = &kept,
                     .p = &weights,
                     .stream = call_field(call, "dout"),
                     .narrow = field_make(N * C),
                     .wide = field_make(4 * N * C),
                     .N = call->sizes->N,
                     .C = call->sizes->C};
    for (int i = 0; i < GRADIENTS; i++) { b.gradient[i] = start(call, w.mistake, i); }
    block_backward(&b);
    for (int i = 0; i < GRADIENTS; i++) { finish(call, gradient_names[i], b.gradient[i]); }
    finish(call, "dx", b.stream);
    field_free(b.narrow);
    field_free(b.wide);
}

/* Computes the kept tensors from the block's input and the parameters. */
static void complete(const struct op *op, const struct op_sizes *sizes, float *const tensor[]) {
    struct op_call call = {.op = op, .sizes = sizes, .tensor = (const float *const *)tensor};
    struct transformer_block weights = call_block(&call);
    float *kept[TRANSFORMER_KEPT_TENSORS];
    for (int i = 0; i < TRANSFORMER_KEPT_TENSORS; i++) { kept[i] = tensor[op_tensor_find(op, kept_names[i])]; }
    transformer_keep(sizes, call_given(&call, "lengths"), &weights, kept);
}

static const struct op_mistake mistakes[] = {
    {.id = "attention-lengths-ignored",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_LENGTHS_IGNORED},
     .stage = MISTAKE_PLACED},
    {.id = "backward-order",
     .cause = "the gradients of the attention's sub-layer are computed first: the backward pass starts at the last "
              "one, the MLP",
     .hint = 1,
     .kernel = "block_backward/order",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_ORDER},
     .stage = MISTAKE_PLACED},
    {.id = "backward-sum-missing",
     .cause = "the gradient of the residual stream is not added: pass it as dsum of residual_layernorm_backward",
     .hint = 1,
     .kernel = "block_backward/sum_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_NO_SUM_2, TRANSFORMER_BACK_NO_SUM_1, TRANSFORMER_BACK_NO_SUMS},
     .stage = MISTAKE_PLACED},
    {.id = "backward-gelu-of-hidden",
     .cause = "GELU's derivative is taken at its output: take it at its input, fc plus the bias",
     .hint = 2,
     .kernel = "block_backward/gelu_of_hidden",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_GELU_OF_HIDDEN},
     .stage = MISTAKE_PLACED},
    {.id = "backward-gelu-missing",
     .cause = "GELU's derivative is missing: call bias_gelu_backward between the two products",
     .hint = 2,
     .kernel = "block_backward/gelu_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_GELU_MISSING, TRANSFORMER_BACK_GELU_MISSING_SUMMED},
     .stage = MISTAKE_PLACED},
    {.id = "backward-not-added",
     .cause = "a parameter's gradient overwrites the earlier value: add it (+=)",
     .hint = 2,
     .kernel = "block_backward/not_added",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_OVERWRITTEN, TRANSFORMER_BACK_OVERWRITTEN_WEIGHTS},
     .stage = MISTAKE_PLACED},
    {.id = "backward-other-statistics",
     .cause =
         "a LayerNorm uses the other one's statistics: mean and rstd are of the first, mean2 and rstd2 of the second",
     .hint = 2,
     .kernel = "block_backward/other_statistics",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_STATISTICS_2, TRANSFORMER_BACK_STATISTICS_1, TRANSFORMER_BACK_STATISTICS},
     .stage = MISTAKE_PLACED},
    {.id = "backward-other-sum",
     .cause = "a LayerNorm's backward pass reads another tensor than its input: residual for the first, middle for the "
              "second",
     .hint = 2,
     .kernel = "block_backward/other_sum",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_SUM_IS_NORMALISED, TRANSFORMER_BACK_SUM_2_IS_RESIDUAL,
                 TRANSFORMER_BACK_SUM_1_IS_MIDDLE},
     .stage = MISTAKE_PLACED},
    {.id = "backward-other-weight",
     .cause =
         "a dx of the MLP uses the other product's weight, which has as many elements: dx = dout W, with the same W",
     .hint = 3,
     .kernel = "block_backward/other_weight",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_MLP_BY_FC, TRANSFORMER_BACK_FC_BY_MLP, TRANSFORMER_BACK_MLP_EXCHANGED},
     .stage = MISTAKE_PLACED},
    {.id = "backward-transposed",
     .cause = "the projection's dx uses the transposed weight: matmul_dx computes dout W, not dout W^T",
     .hint = 3,
     .kernel = "block_backward/transposed",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_TRANSPOSED},
     .stage = MISTAKE_PLACED},
    {.id = "backward-projection-missing",
     .cause = "the attention's backward pass gets the branch's gradient: it needs the gradient of its own output",
     .hint = 2,
     .kernel = "block_backward/projection_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_PROJECTION_MISSING},
     .stage = MISTAKE_PLACED},
    {.id = "backward-bias-missing",
     .cause = "the gradient of a bias is missing: bias_backward adds the column sums of the product's dout",
     .hint = 3,
     .kernel = "block_backward/bias_missing",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_NO_MLP_BIAS, TRANSFORMER_BACK_NO_ATTENTION_BIAS, TRANSFORMER_BACK_NO_QKV_BIAS,
                 TRANSFORMER_BACK_NO_BIASES},
     .stage = MISTAKE_PLACED},
    {.id = "backward-fc-bias-twice",
     .cause = "the gradient of fc's bias is added twice: by bias_gelu_backward, and again by bias_backward",
     .hint = 3,
     .kernel = "block_backward/fc_bias_twice",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_FC_BIAS_TWICE},
     .stage = MISTAKE_PLACED},
    {.id = "backward-other-input",
     .cause = "a weight's gradient uses another tensor than the product's input: dW += dout^T x, with that product's x",
     .hint = 2,
     .kernel = "block_backward/other_input",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_MLP_OF_FC, TRANSFORMER_BACK_FC_OF_1, TRANSFORMER_BACK_FC_OF_MIDDLE,
                 TRANSFORMER_BACK_QKV_OF_2, TRANSFORMER_BACK_QKV_OF_RESIDUAL, TRANSFORMER_BACK_ATTENTION_OF_2},
     .stage = MISTAKE_PLACED},
    {.id = "backward-stream-not-passed",
     .cause = "the attention's sub-layer gets the gradient that entered the MLP's: pass the one that the MLP's returns",
     .hint = 2,
     .kernel = "block_backward/stream_not_passed",
     .compute = transformer_mistaken,
     .variant = {TRANSFORMER_BACK_STREAM_NOT_PASSED},
     .stage = MISTAKE_PLACED},
    {.id = NULL},
};

/* ---- the first wrong gradient ---- */

/* `argument`: the index of the weight in gradient_names, where its bias follows it; GRADIENTS means dx. */
static bool shows_gradient(const struct evidence *evidence, int argument) {
    if (shows_untouched(evidence, 0) || shows_low_precision(evidence, 0)) { return false; }
    for (int i = 0; i < evidence->count; i++) {
        const struct evidence_case *shown = evidence->cases[i];
        if (!evidence_case_is_wrong(shown)) { continue; }
        const char *name = evidence->op->tensor[transformer_first_wrong(evidence, shown)].name;
        if (argument == GRADIENTS) { return strcmp(name, "dx") == 0; }
        return strcmp(name, gradient_names[argument]) == 0 || strcmp(name, gradient_names[argument + 1]) == 0;
    }
    return false;
}

static const struct op_mistake shown[] = {
    {.id = "backward-mlp",
     .cause = "the MLP's gradients are the first to be wrong: check its two products and GELU between them",
     .hint = 2,
     .kernel = "block_backward/branch_of_middle",
     .predicate = shows_gradient,
     .argument = MLP,
     .stage = MISTAKE_PLACED},
    {.id = "backward-fc",
     .cause =
         "the second product's gradients are right, the first's are wrong: check GELU's backward pass and its inputs",
     .hint = 2,
     .kernel = "block_backward/fc_of_residual",
     .predicate = shows_gradient,
     .argument = FC,
     .stage = MISTAKE_PLACED},
    {.id = "backward-layernorm-2",
     .cause =
         "the MLP's gradients are right, LayerNorm 2's are wrong: check its dout and the other tensors passed to it",
     .hint = 2,
     .kernel = "block_backward/ln2_gradients_swapped",
     .predicate = shows_gradient,
     .argument = LN2,
     .stage = MISTAKE_PLACED},
    {.id = "backward-attention",
     .cause =
         "the MLP's sub-layer is right, the attention's is wrong: check the sum after LayerNorm 2 and the projection",
     .hint = 2,
     .kernel = "block_backward/projection_of_normalised",
     .predicate = shows_gradient,
     .argument = ATTENTION,
     .stage = MISTAKE_PLACED},
    {.id = "backward-qkv",
     .cause = "the projection's gradients are right, qkv's are wrong: check attention_backward and its arguments",
     .hint = 2,
     .kernel = "block_backward/first_sequence",
     .predicate = shows_gradient,
     .argument = QKV,
     .stage = MISTAKE_PLACED},
    {.id = "backward-layernorm-1",
     .cause = "qkv's gradients are right, LayerNorm 1's are wrong: check its dout and the other tensors passed to it",
     .hint = 2,
     .kernel = "block_backward/ln1_gradients_swapped",
     .predicate = shows_gradient,
     .argument = LN1,
     .stage = MISTAKE_PLACED},
    {.id = "backward-dx",
     .cause = "the gradients of all parameters are right, dx is wrong: check the last sum",
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
