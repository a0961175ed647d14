/* wiring_block_backward.c — what a block keeps for its backward pass, and its gradients from that; see wiring.h. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "elements.h"
#include "reference_parts.h"
#include "wiring.h"

/* ---- forward ---- */

/* The next tensor as the device has it: without error, rounded. */
static struct field keep(enum op_type type, float *kept, struct field computed, size_t count) {
    for (size_t i = 0; i < count; i++) { kept[i] = (float)element_round(type, computed.value[i]); }
    field_free(computed);
    return field_of(kept, count);
}

/* out (N, C), mean and rstd (N) */
static struct field keep_layernorm(const struct wiring *w, enum op_type type, float *out, float *mean, float *rstd,
                                   struct field x, const float *rows, const float *weight, const float *bias) {
    int N = w->B * w->T, C = w->C;
    struct field normal = field_make((size_t)(N * C));
    wiring_layernorm(w, normal, x, weight, bias, N);
    for (int n = 0; n < N; n++) {
        double row_mean, row_rstd;
        reference_row_statistics(rows + n * C, C, w->eps, &row_mean, &row_rstd);
        mean[n] = (float)row_mean;
        rstd[n] = (float)row_rstd;
    }
    return keep(type, out, normal, (size_t)(N * C));
}

static struct field linear(const struct wiring *w, struct field x, const float *weight, const float *bias, int C,
                           int OC) {
    int N = w->B * w->T;
    struct field out = field_make((size_t)(N * OC));
    wiring_linear(w, out, x, weight, bias, N, C, OC);
    return out;
}

void wiring_keep(const struct op_sizes *sizes, const float *lengths, const struct wiring_block *p,
                 float *const kept[WIRING_KEPT_TENSORS]) {
    struct wiring w = wiring_of(sizes, lengths, WIRING_RIGHT);
    enum op_type type = sizes->type;
    int N = w.B * w.T, C = w.C;
    size_t count = (size_t)(N * C), cached = (size_t)(w.B * w.S * C);
    struct field k = field_make(cached), v = field_make(cached), attention = field_make(count);
    struct field residual = field_of(kept[0], count);
    struct field normal =
        keep_layernorm(&w, type, kept[1], kept[8], kept[9], residual, kept[0], p->ln1_weight, p->ln1_bias);
    struct field qkv = keep(type, kept[2], linear(&w, normal, p->qkv_weight, p->qkv_bias, C, 3 * C), 3 * count);
    wiring_attention(&w, attention, k, v, qkv);
    attention = keep(type, kept[3], attention, count);
    struct field branch = linear(&w, attention, p->attention_weight, p->attention_bias, C, C);
    wiring_add(&w, branch, residual, branch, count);
    struct field middle = keep(type, kept[4], branch, count);
    struct field normal2 =
        keep_layernorm(&w, type, kept[5], kept[10], kept[11], middle, kept[4], p->ln2_weight, p->ln2_bias);
    struct field fc = keep(type, kept[6], linear(&w, normal2, p->fc_weight, NULL, C, 4 * C), 4 * count);
    wiring_bias_gelu(&w, fc, p->fc_bias, N, 4 * C);
    field_free(keep(type, kept[7], fc, 4 * count));
    struct field made[] = {k, v, attention, residual, normal, qkv, middle, normal2};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) { field_free(made[i]); }
}

/* ---- back ---- */

/* Places of the gradients: the order in which the op has them. */
enum { MLP, FC = 2, LN2 = 4, ATTENTION = 6, QKV = 8, LN1 = 10, GRADIENTS = 12 };

struct back {
    const struct wiring *w;
    const struct wiring_kept *kept;
    const struct wiring_block *p;
    struct field gradient[GRADIENTS]; /* of the weights, each followed by its bias */
    struct field stream;              /* (N, C) */
    struct field narrow;              /* (N, C)    of what a LayerNorm gave, and of the attention's output */
    struct field wide;                /* (N, 4C)   of hidden and fc; of qkv */
    int N, C;
};

static bool is(const struct back *b, enum wiring_mistake mistake) {
    return b->w->mistake == mistake;
}

/* A linear layer's gradients; x_weight: what dx is multiplied by. */
static void linear_backward(struct back *b, int at, struct field dx, struct field dout, const float *x,
                            const float *x_weight, bool biased, int C, int OC) {
    if (biased) { wiring_linear_dbias(b->gradient[at + 1], dout, b->N, OC); }
    wiring_linear_dweight(b->gradient[at], dout, x, b->N, C, OC);
    wiring_linear_dx(b->w, dx, dout, x_weight, b->N, C, OC);
}

static void gelu_backward(struct back *b) {
    const float *x = is(b, WIRING_BACK_GELU_OF_HIDDEN) ? b->kept->hidden : b->kept->fc;
    struct field dbias = b->gradient[FC + 1];
    if (is(b, WIRING_BACK_GELU_MISSING)) { return; }
    if (is(b, WIRING_BACK_GELU_MISSING_SUMMED)) {
        wiring_linear_dbias(dbias, b->wide, b->N, 4 * b->C);
        return;
    }
    wiring_gelu_backward(b->w, b->wide, dbias, b->wide, x, b->p->fc_bias, b->N, 4 * b->C);
    if (is(b, WIRING_BACK_FC_BIAS_TWICE)) { wiring_linear_dbias(dbias, b->wide, b->N, 4 * b->C); }
}

static void layernorm_backward(struct back *b, int at, const struct wiring_norm *norm, bool sum_forgotten) {
    struct field none = {NULL, NULL}, dsum = sum_forgotten || is(b, WIRING_BACK_NO_SUMS) ? none : b->stream;
    wiring_layernorm_backward(b->w, b->stream, b->gradient[at], b->gradient[at + 1], b->narrow, dsum, norm);
}

static void mlp_backward(struct back *b) {
    const struct wiring_kept *k = b->kept;
    const struct wiring_block *p = b->p;
    bool other = is(b, WIRING_BACK_STATISTICS_2) || is(b, WIRING_BACK_STATISTICS);
    bool exchanged = is(b, WIRING_BACK_MLP_EXCHANGED), biased = true;
    struct wiring_norm norm = {k->middle, other ? k->mean : k->mean2, other ? k->rstd : k->rstd2, p->ln2_weight};
    const float *fc_x = k->normalised2;
    if (is(b, WIRING_BACK_NO_MLP_BIAS) || is(b, WIRING_BACK_NO_BIASES)) { biased = false; }
    if (is(b, WIRING_BACK_FC_OF_1)) { fc_x = k->normalised; }
    if (is(b, WIRING_BACK_FC_OF_MIDDLE)) { fc_x = k->middle; }
    if (is(b, WIRING_BACK_SUM_IS_NORMALISED)) { norm.x = k->normalised2; }
    if (is(b, WIRING_BACK_SUM_2_IS_RESIDUAL)) { norm.x = k->residual; }
    linear_backward(b, MLP, b->wide, b->stream, is(b, WIRING_BACK_MLP_OF_FC) ? k->fc : k->hidden,
                    exchanged || is(b, WIRING_BACK_MLP_BY_FC) ? p->fc_weight : p->mlp_weight, biased, 4 * b->C, b->C);
    gelu_backward(b);
    linear_backward(b, FC, b->narrow, b->wide, fc_x,
                    exchanged || is(b, WIRING_BACK_FC_BY_MLP) ? p->mlp_weight : p->fc_weight, false, b->C, 4 * b->C);
    layernorm_backward(b, LN2, &norm, is(b, WIRING_BACK_NO_SUM_2));
}

static void attention_backward(struct back *b, struct field stream) {
    const struct wiring_kept *k = b->kept;
    const struct wiring_block *p = b->p;
    bool other = is(b, WIRING_BACK_STATISTICS_1) || is(b, WIRING_BACK_STATISTICS), none = is(b, WIRING_BACK_NO_BIASES);
    struct wiring_norm norm = {k->residual, other ? k->mean2 : k->mean, other ? k->rstd2 : k->rstd, p->ln1_weight};
    const float *qkv_x = k->normalised;
    if (is(b, WIRING_BACK_QKV_OF_2)) { qkv_x = k->normalised2; }
    if (is(b, WIRING_BACK_QKV_OF_RESIDUAL)) { qkv_x = k->residual; }
    if (is(b, WIRING_BACK_SUM_IS_NORMALISED)) { norm.x = k->normalised; }
    if (is(b, WIRING_BACK_SUM_1_IS_MIDDLE)) { norm.x = k->middle; }
    linear_backward(b, ATTENTION, b->narrow, stream, is(b, WIRING_BACK_ATTENTION_OF_2) ? k->normalised2 : k->attention,
                    p->attention_weight, !none && !is(b, WIRING_BACK_NO_ATTENTION_BIAS), b->C, b->C);
    if (is(b, WIRING_BACK_TRANSPOSED)) {
        wiring_linear(b->w, b->narrow, stream, p->attention_weight, NULL, b->N, b->C, b->C);
    }
    wiring_attention_backward(b->w, b->wide, is(b, WIRING_BACK_PROJECTION_MISSING) ? stream : b->narrow, k->qkv);
    linear_backward(b, QKV, b->narrow, b->wide, qkv_x, p->qkv_weight, !none && !is(b, WIRING_BACK_NO_QKV_BIAS), b->C,
                    3 * b->C);
    layernorm_backward(b, LN1, &norm, is(b, WIRING_BACK_NO_SUM_1));
}

static void block_backward(struct back *b) {
    struct field before = field_make((size_t)(b->N * b->C));
    memcpy(before.value, b->stream.value, (size_t)(b->N * b->C) * sizeof(double));
    if (is(b, WIRING_BACK_ORDER)) { attention_backward(b, b->stream); }
    mlp_backward(b);
    if (!is(b, WIRING_BACK_ORDER)) { attention_backward(b, is(b, WIRING_BACK_STREAM_NOT_PASSED) ? before : b->stream); }
    field_free(before);
}

/* What a parameter's gradient is added to. */
static struct field start(const struct wiring *w, int at, const float *values, size_t count) {
    bool matrix = at == MLP || at == FC || at == ATTENTION || at == QKV;
    bool overwritten =
        w->mistake == WIRING_BACK_OVERWRITTEN || (w->mistake == WIRING_BACK_OVERWRITTEN_WEIGHTS && matrix);
    return overwritten ? field_make(count) : field_of(values, count);
}

static void finish(double *out, double *condition, struct field field, size_t count) {
    for (size_t i = 0; i < count; i++) {
        out[i] = field.value[i];
        if (condition) { condition[i] = isnan(out[i]) ? 0.0 : field.error[i] + DBL_MIN; }
    }
    field_free(field);
}

void wiring_compute_backward(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                             enum wiring_mistake mistake, double *const out[], double *const condition[]) {
    struct wiring w = wiring_of(sizes, tensor[op_tensor_find(op, "lengths")], mistake);
    struct wiring_kept kept;
    struct wiring_block weights;
    size_t N = (size_t)sizes->N, C = (size_t)sizes->C;
    int dx = op_tensor_find(op, "dx");
    /* A parameter's gradient is a float, so it shows each rounding of the 16-bit tensors before it, and a call has 100 000
     * of them: roundings count with their largest size, which is twice the usual one. */
    w.rounding *= 2.0;
    memcpy(&kept, tensor + op_tensor_find(op, "residual"), sizeof kept);
    memcpy(&weights, tensor + op_tensor_find(op, "ln1_weight"), sizeof weights);
    struct back b = {.w = &w,
                     .kept = &kept,
                     .p = &weights,
                     .stream = field_of(tensor[op_tensor_find(op, "dout")], N * C),
                     .narrow = field_make(N * C),
                     .wide = field_make(4 * N * C),
                     .N = sizes->N,
                     .C = sizes->C};
    for (int i = 0; i < GRADIENTS; i++) { b.gradient[i] = start(&w, i, tensor[i], op_elements(op, i, sizes)); }
    block_backward(&b);
    for (int i = 0; i < GRADIENTS; i++) {
        finish(out[i], condition ? condition[i] : NULL, b.gradient[i], op_elements(op, i, sizes));
    }
    finish(out[dx], condition ? condition[dx] : NULL, b.stream, N * C);
    field_free(b.narrow);
    field_free(b.wide);
}
