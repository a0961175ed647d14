/* block.c — products, LayerNorm, GELU, the block made of them, and both ends of a model; see transformer.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/reference.h"
#include "transformer.h"

/* Sum of the C products x y; and, of errors (C) of x, the sums of the squares of the products and of their errors. */
static double dot(const double *x, const double *y, size_t C) {
    double sum = 0.0;
    for (size_t c = 0; c < C; c++) { sum += x[c] * y[c]; }
    return sum;
}
static double dot_with_errors(const double *x, const double *error, const double *y, size_t C, double *squares,
                              double *passed) {
    double sum = 0.0, terms = 0.0, errors = 0.0;
    for (size_t c = 0; c < C; c++) {
        double term = x[c] * y[c], carried = error[c] * y[c];
        sum += term;
        terms += term * term;
        errors += carried * carried;
    }
    *squares = terms;
    *passed = errors;
    return sum;
}

void transformer_linear(const struct transformer *w, struct field out, struct field x, const float *weight,
                        const float *bias, size_t rows, size_t C, size_t OC) {
    double growth = reference_growth((long)C), *row = transformer_numbers(C), squares, passed;
    for (size_t o = 0; o < OC; o++) {
        double b = bias ? bias[o] : 0.0;
        for (size_t c = 0; c < C; c++) { row[c] = weight[o * C + c]; }
        for (size_t n = 0; n < rows; n++) {
            size_t i = n * OC + o;
            if (!out.error) {
                out.value[i] = dot(x.value + n * C, row, C) + b;
                continue;
            }
            double sum = dot_with_errors(x.value + n * C, x.error + n * C, row, C, &squares, &passed);
            out.value[i] = sum + b;
            out.error[i] = sqrt(passed + growth * growth * (squares + b * b) +
                                w->rounding * w->rounding * (sum * sum + (sum + b) * (sum + b)));
        }
    }
    free(row);
}

/* The errors of one row of LayerNorm. */
static void layernorm_errors(const struct transformer *w, struct field out, struct field x, const float *weight,
                             const float *bias, double mean, double rstd) {
    int C = w->C;
    double growth = reference_growth(C), size = 0.0, of_mean = 0.0, of_rstd = 0.0;
    for (int c = 0; c < C; c++) {
        double normal = (x.value[c] - mean) * rstd;
        size += fabs(x.value[c]) / C;
        of_mean += x.error[c] * x.error[c] / C / C;
        of_rstd += normal * normal * x.error[c] * x.error[c] * rstd * rstd / C / C;
    }
    of_rstd += growth * growth * (1.0 + size * size * rstd * rstd);
    of_mean += growth * growth * size * size;
    for (int c = 0; c < C; c++) {
        double value = x.value[c], normal = (value - mean) * rstd;
        double shifted = rstd * rstd * (x.error[c] * x.error[c] + of_mean + value * value + mean * mean);
        out.error[c] = sqrt((double)weight[c] * weight[c] * (shifted + normal * normal * of_rstd) +
                            (double)bias[c] * bias[c] + w->rounding * w->rounding * out.value[c] * out.value[c]);
    }
}

/* out (rows, C) = LayerNorm(x); mean and rstd (rows) are x's. */
static void layernorm(const struct transformer *w, struct field out, double *mean, double *rstd, struct field x,
                      const float *weight, const float *bias, size_t rows) {
    size_t C = (size_t)w->C;
    for (size_t n = 0; n < rows; n++) {
        struct field to = field_at(out, n * C), from = field_at(x, n * C);
        double variance = 0.0;
        mean[n] = 0.0;
        for (size_t c = 0; c < C; c++) { mean[n] += from.value[c] / w->C; }
        for (size_t c = 0; c < C; c++) { variance += (from.value[c] - mean[n]) * (from.value[c] - mean[n]) / w->C; }
        rstd[n] = 1.0 / sqrt(variance + w->eps);
        for (size_t c = 0; c < C; c++) { to.value[c] = (from.value[c] - mean[n]) * rstd[n] * weight[c] + bias[c]; }
        if (to.error) { layernorm_errors(w, to, from, weight, bias, mean[n], rstd[n]); }
    }
}

/* sum (count) = a + b, rounded. sum may be a or b. */
static void add(const struct transformer *w, struct field sum, struct field a, struct field b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double value = a.value[i] + b.value[i];
        if (sum.error) {
            sum.error[i] =
                sqrt(a.error[i] * a.error[i] + b.error[i] * b.error[i] + w->rounding * w->rounding * value * value);
        }
        sum.value[i] = value;
    }
}

/* x (rows, C) in place: GELU(x + bias) */
static void bias_gelu(const struct transformer *w, struct field x, const float *bias, size_t rows, size_t C) {
    double times = w->mistake == TRANSFORMER_FC_BIAS_MISSING ? 0.0
                   : w->mistake == TRANSFORMER_FC_BIAS_TWICE ? 2.0
                                                             : 1.0;
    for (size_t i = 0; i < rows * C; i++) {
        double u = x.value[i] + times * bias[i % C], g = u;
        double inner = 0.79788456080286535588 * (u + 0.044715 * u * u * u);
        if (w->activation == TRANSFORMER_RELU) {
            g = u > 0.0 ? u : 0.0;
        } else if (w->mistake == TRANSFORMER_GELU_ERF || w->activation == TRANSFORMER_ERF) {
            g = 0.5 * u * (1.0 + erf(u / sqrt(2.0)));
        } else if (w->mistake != TRANSFORMER_GELU_MISSING) {
            g = 0.5 * u * (1.0 + tanh(inner));
        }
        x.value[i] = g;
        if (x.error) {
            x.error[i] = sqrt(1.3 * x.error[i] * x.error[i] + 9.0 * u * u + w->rounding * w->rounding * g * g);
        }
    }
}

/* ---- a block ---- */

static void show(const struct transformer *w, enum transformer_stage stage, int layer, struct field values, size_t rows,
                 size_t columns) {
    if (w->observer) { w->observer(w->context, stage, layer, values, rows, columns); }
}

/* A LayerNorm whose output and statistics are shown as `stage`, `stage_mean` and the stage after it. */
static void show_layernorm(const struct transformer *w, enum transformer_stage stage, enum transformer_stage stage_mean,
                           int layer, struct field out, struct field x, const float *weight, const float *bias,
                           size_t rows) {
    double *mean = transformer_numbers(rows), *rstd = transformer_numbers(rows);
    layernorm(w, out, mean, rstd, x, weight, bias, rows);
    show(w, stage, layer, out, rows, (size_t)w->C);
    show(w, stage_mean, layer, (struct field){mean, NULL}, rows, 1);
    show(w, stage_mean + 1, layer, (struct field){rstd, NULL}, rows, 1);
    free(mean);
    free(rstd);
}

/* The intermediate fields of a block, (N, C) and larger. */
struct work {
    struct field sum, normalised, qkv, attention, attention_branch, hidden;
};

static float *transposed(const float *weight, size_t C) {
    float *out = malloc(C * C * sizeof *out);
    if (!out) { abort(); }
    for (size_t i = 0; i < C * C; i++) { out[i] = weight[i % C * C + i / C]; }
    return out;
}

static void attention_part(const struct transformer *w, const struct transformer_block *p, int layer, struct work *work,
                           struct field k, struct field v, const float *positions) {
    size_t N = (size_t)w->B * (size_t)w->T, C = (size_t)w->C;
    const float *qkv_bias = w->mistake == TRANSFORMER_QKV_BIAS_MISSING ? NULL : p->qkv_bias;
    const float *bias = w->mistake == TRANSFORMER_ATTENTION_BIAS_MISSING ? NULL : p->attention_bias;
    struct field from = w->mistake == TRANSFORMER_LN1_MISSING ? work->sum : work->normalised;
    transformer_linear(w, work->qkv, from, p->qkv_weight, qkv_bias, N, C, 3 * C);
    show(w, STAGE_QKV, layer, work->qkv, N, 3 * C);
    if (positions) {
        transformer_decode(w, work->attention, k, v, work->qkv, positions);
    } else {
        transformer_attention(w, work->attention, k, v, work->qkv);
    }
    show(w, STAGE_ATTENTION, layer, work->attention, N, C);
    float *exchanged = w->mistake == TRANSFORMER_WEIGHT_TRANSPOSED ? transposed(p->attention_weight, C) : NULL;
    transformer_linear(w, work->attention_branch, work->attention, exchanged ? exchanged : p->attention_weight, bias, N,
                       C, C);
    free(exchanged);
    if (w->mistake == TRANSFORMER_PROJECTION_MISSING) { field_copy(work->attention_branch, work->attention, N * C); }
    transformer_drop(w, DROPOUT_OF_ATTENTION, work->attention_branch.value, 0, N * C);
    show(w, STAGE_ATTENTION_BRANCH, layer, work->attention_branch, N, C);
}

static void mlp_part(const struct transformer *w, const struct transformer_block *p, int layer, struct work *work,
                     struct field branch) {
    size_t N = (size_t)w->B * (size_t)w->T, C = (size_t)w->C;
    transformer_linear(w, work->hidden, work->normalised, p->fc_weight, NULL, N, C, 4 * C);
    show(w, STAGE_FC, layer, work->hidden, N, 4 * C);
    bias_gelu(w, work->hidden, p->fc_bias, N, 4 * C);
    show(w, STAGE_HIDDEN, layer, work->hidden, N, 4 * C);
    transformer_linear(w, branch, work->hidden, p->mlp_weight,
                       w->mistake == TRANSFORMER_MLP_BIAS_MISSING ? NULL : p->mlp_bias, N, 4 * C, C);
    transformer_drop(w, DROPOUT_OF_MLP, branch.value, 0, N * C);
    show(w, STAGE_BRANCH, layer, branch, N, C);
}

/* LayerNorm 2 of the sum, which the mistake may change; then residual holds the sum. */
static void second_sum(const struct transformer *w, const struct transformer_block *p, int layer, struct work *work,
                       struct field residual, size_t rows) {
    size_t count = rows * (size_t)w->C;
    bool swapped = w->mistake == TRANSFORMER_LN_SWAPPED, forgotten = w->mistake == TRANSFORMER_ATTENTION_FORGOTTEN;
    struct field from = work->sum;
    add(w, work->sum, w->mistake == TRANSFORMER_RESIDUAL_NORMALISED ? work->normalised : residual,
        work->attention_branch, count);
    show(w, STAGE_MIDDLE, layer, work->sum, rows, (size_t)w->C);
    if (w->mistake == TRANSFORMER_LN2_OF_BRANCH) { from = work->attention_branch; }
    if (w->mistake == TRANSFORMER_PARALLEL || forgotten) { from = residual; }
    show_layernorm(w, STAGE_NORMALISED_2, STAGE_MEAN_2, layer, work->normalised, from,
                   swapped ? p->ln1_weight : p->ln2_weight, swapped ? p->ln1_bias : p->ln2_bias, rows);
    if (w->mistake != TRANSFORMER_RESIDUAL_NOT_WRITTEN && !forgotten) { field_copy(residual, work->sum, count); }
}

void transformer_block(const struct transformer *w, const struct transformer_block *p, int layer, struct field residual,
                       struct field branch, struct field k, struct field v, const float *positions) {
    struct transformer fixed = *w;
    if (w->mistake == TRANSFORMER_EPS_FIXED) {
        fixed.eps = 1e-5;
        w = &fixed;
    }
    size_t N = (size_t)w->B * (size_t)w->T, C = (size_t)w->C, count = N * C;
    bool swapped = w->mistake == TRANSFORMER_LN_SWAPPED;
    struct work work = {transformer_field(w, count), transformer_field(w, count), transformer_field(w, 3 * count),
                        transformer_field(w, count), transformer_field(w, count), transformer_field(w, 4 * count)};
    bool adds = layer > 0 ? w->mistake != TRANSFORMER_BRANCH_FORGOTTEN : w->mistake == TRANSFORMER_BRANCH_IN_LAYER_0;
    if (adds) { add(w, residual, residual, branch, count); }
    show(w, STAGE_RESIDUAL, layer, residual, N, C);
    field_copy(work.sum, residual, count);
    show_layernorm(w, STAGE_NORMALISED, STAGE_MEAN, layer, work.normalised, residual,
                   swapped ? p->ln2_weight : p->ln1_weight, swapped ? p->ln2_bias : p->ln1_bias, N);
    attention_part(w, p, layer, &work, k, v, positions);
    second_sum(w, p, layer, &work, residual, N);
    mlp_part(w, p, layer, &work, branch);
    if (w->mistake == TRANSFORMER_BRANCHES_ADDED) { add(w, branch, branch, work.attention_branch, count); }
    struct field made[] = {work.sum, work.normalised, work.qkv, work.attention, work.attention_branch, work.hidden};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) { field_free(made[i]); }
}

/* ---- the ends of a model ---- */

void transformer_embed(const struct transformer *w, struct field out, const struct transformer_model *model,
                       size_t token, size_t position) {
    size_t C = (size_t)w->C;
    for (size_t c = 0; c < C; c++) {
        double sum = (double)model->token_embedding[token * C + c] + model->position_embedding[position * C + c];
        out.value[c] = sum;
        if (out.error) { out.error[c] = fabs(w->rounding * sum); }
    }
}

void transformer_end(const struct transformer *w, const struct transformer_model *model, int layers,
                     struct field residual, struct field branch, struct field normalised, struct field logits,
                     size_t rows) {
    size_t C = (size_t)w->C;
    struct transformer in_float = *w;
    in_float.rounding = 1.0;
    if (layers > 0) { add(w, residual, residual, branch, rows * C); }
    show(w, STAGE_RESIDUAL, layers, residual, rows, C);
    show_layernorm(w, STAGE_NORMALISED, STAGE_MEAN, layers, normalised, residual, model->final_weight,
                   model->final_bias, rows);
    transformer_linear(&in_float, logits, normalised, model->head ? model->head : model->token_embedding, NULL, rows, C,
                       model->V);
    show(w, STAGE_LOGITS, layers, logits, rows, model->V);
}

static double log_sum_exp(const double *x, size_t count) {
    double largest = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < count; i++) { largest = fmax(largest, x[i]); }
    for (size_t i = 0; i < count; i++) { sum += exp(x[i] - largest); }
    return log(sum) + largest;
}

double transformer_loss(struct field logits, size_t V, int target, double *error) {
    double worst = 0.0, size = 0.0;
    for (size_t v = 0; v < V; v++) {
        size = fmax(size, fabs(logits.value[v]));
        if (logits.error) { worst = fmax(worst, logits.error[v]); }
    }
    *error = target < 0 ? 0.0 : worst + size + sqrt((double)V) + 4.0;
    return target < 0 ? 0.0 : log_sum_exp(logits.value, V) - logits.value[target];
}

void transformer_loss_backward(double *dlogits, const double *logits, size_t V, int target, double scale) {
    double total = log_sum_exp(logits, V);
    for (size_t v = 0; v < V; v++) {
        dlogits[v] = target < 0 ? 0.0 : scale * (exp(logits[v] - total) - (v == (size_t)target));
    }
}
