/* block.c — products, LayerNorm, GELU, and the block made of them; see transformer.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "transformer.h"

void transformer_linear(const struct transformer *w, struct field out, struct field x, const float *weight,
                        const float *bias, int rows, int C, int OC) {
    double growth = reference_growth(C);
    for (int n = 0; n < rows; n++) {
        const double *value = x.value + (size_t)n * (size_t)C, *error = x.error + (size_t)n * (size_t)C;
        for (int o = 0; o < OC; o++) {
            const float *row = weight + (size_t)o * (size_t)C;
            double sum = 0.0, squares = 0.0, passed = 0.0, b = bias ? bias[o] : 0.0;
            for (int c = 0; c < C; c++) {
                double term = value[c] * row[c], carried = error[c] * row[c];
                sum += term;
                squares += term * term;
                passed += carried * carried;
            }
            size_t i = (size_t)n * (size_t)OC + (size_t)o;
            out.value[i] = sum + b;
            out.error[i] = sqrt(passed + growth * growth * (squares + b * b) +
                                w->rounding * w->rounding * (sum * sum + (sum + b) * (sum + b)));
        }
    }
}

void transformer_layernorm(const struct transformer *w, struct field out, struct field x, const float *weight,
                           const float *bias, int rows) {
    int C = w->C;
    double growth = reference_growth(C);
    for (int n = 0; n < rows; n++) {
        const double *value = x.value + (size_t)n * (size_t)C, *error = x.error + (size_t)n * (size_t)C;
        double mean = 0.0, variance = 0.0, size = 0.0, of_mean = 0.0, of_rstd = 0.0;
        for (int c = 0; c < C; c++) {
            mean += value[c] / C;
            size += fabs(value[c]) / C;
            of_mean += error[c] * error[c] / C / C;
        }
        for (int c = 0; c < C; c++) { variance += (value[c] - mean) * (value[c] - mean) / C; }
        double rstd = 1.0 / sqrt(variance + w->eps);
        for (int c = 0; c < C; c++) {
            double normal = (value[c] - mean) * rstd;
            of_rstd += normal * normal * error[c] * error[c] * rstd * rstd / C / C;
        }
        of_rstd += growth * growth * (1.0 + size * size * rstd * rstd);
        of_mean += growth * growth * size * size;
        for (int c = 0; c < C; c++) {
            size_t i = (size_t)n * (size_t)C + (size_t)c;
            double normal = (value[c] - mean) * rstd;
            double shifted = rstd * rstd * (error[c] * error[c] + of_mean + value[c] * value[c] + mean * mean);
            out.value[i] = normal * weight[c] + bias[c];
            out.error[i] = sqrt((double)weight[c] * weight[c] * (shifted + normal * normal * of_rstd) +
                                (double)bias[c] * bias[c] + w->rounding * w->rounding * out.value[i] * out.value[i]);
        }
    }
}

void transformer_add(const struct transformer *w, struct field sum, struct field a, struct field b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double value = a.value[i] + b.value[i];
        sum.error[i] =
            sqrt(a.error[i] * a.error[i] + b.error[i] * b.error[i] + w->rounding * w->rounding * value * value);
        sum.value[i] = value;
    }
}

void transformer_bias_gelu(const struct transformer *w, struct field x, const float *bias, int rows, int C) {
    double times = w->mistake == TRANSFORMER_FC_BIAS_MISSING ? 0.0
                   : w->mistake == TRANSFORMER_FC_BIAS_TWICE ? 2.0
                                                             : 1.0;
    for (size_t i = 0; i < (size_t)rows * (size_t)C; i++) {
        double u = x.value[i] + times * bias[i % (size_t)C], e = x.error[i], g = u;
        double inner = 0.79788456080286535588 * (u + 0.044715 * u * u * u);
        if (w->mistake == TRANSFORMER_GELU_ERF) {
            g = 0.5 * u * (1.0 + erf(u / sqrt(2.0)));
        } else if (w->mistake != TRANSFORMER_GELU_MISSING) {
            g = 0.5 * u * (1.0 + tanh(inner));
        }
        x.value[i] = g;
        x.error[i] = sqrt(1.3 * e * e + 9.0 * u * u + w->rounding * w->rounding * g * g);
    }
}

/* The intermediate fields of a block, (N, C) and larger. */
struct work {
    struct field sum, normalised, qkv, attention, hidden;
};

static void attention_part(const struct transformer *w, const struct transformer_block *p, struct work *work,
                           struct field branch, struct field k, struct field v, const float *positions) {
    int N = w->B * w->T, C = w->C;
    size_t count = (size_t)N * (size_t)C;
    const float *qkv_bias = w->mistake == TRANSFORMER_QKV_BIAS_MISSING ? NULL : p->qkv_bias;
    const float *bias = w->mistake == TRANSFORMER_ATTENTION_BIAS_MISSING ? NULL : p->attention_bias;
    struct field from = w->mistake == TRANSFORMER_LN1_MISSING ? work->sum : work->normalised;
    transformer_linear(w, work->qkv, from, p->qkv_weight, qkv_bias, N, C, 3 * C);
    if (positions) {
        transformer_decode(w, work->attention, k, v, work->qkv, positions);
    } else {
        transformer_attention(w, work->attention, k, v, work->qkv);
    }
    float *weight = calloc((size_t)C * (size_t)C + 1, sizeof *weight);
    if (!weight) { abort(); }
    for (int o = 0; o < C; o++) {
        for (int c = 0; c < C; c++) {
            bool transposed = w->mistake == TRANSFORMER_WEIGHT_TRANSPOSED;
            weight[o * C + c] = p->attention_weight[transposed ? c * C + o : o * C + c];
        }
    }
    transformer_linear(w, branch, work->attention, weight, bias, N, C, C);
    free(weight);
    if (w->mistake != TRANSFORMER_PROJECTION_MISSING) { return; }
    memcpy(branch.value, work->attention.value, count * sizeof(double));
    memcpy(branch.error, work->attention.error, count * sizeof(double));
}

static void mlp_part(const struct transformer *w, const struct transformer_block *p, struct work *work,
                     struct field branch) {
    int N = w->B * w->T, C = w->C;
    transformer_linear(w, work->hidden, work->normalised, p->fc_weight, NULL, N, C, 4 * C);
    transformer_bias_gelu(w, work->hidden, p->fc_bias, N, 4 * C);
    transformer_linear(w, branch, work->hidden, p->mlp_weight,
                       w->mistake == TRANSFORMER_MLP_BIAS_MISSING ? NULL : p->mlp_bias, N, 4 * C, C);
}

/* LayerNorm 2 of the sum, which the mistake may change; then residual holds the sum. */
static void second_sum(const struct transformer *w, const struct transformer_block *p, struct work *work,
                       struct field residual, struct field branch, int rows) {
    size_t count = (size_t)rows * (size_t)w->C;
    bool swapped = w->mistake == TRANSFORMER_LN_SWAPPED;
    struct field before = field_make(count), from = work->sum;
    memcpy(before.value, residual.value, count * sizeof(double));
    memcpy(before.error, residual.error, count * sizeof(double));
    transformer_add(w, work->sum, w->mistake == TRANSFORMER_RESIDUAL_NORMALISED ? work->normalised : residual, branch,
                    count);
    if (w->mistake == TRANSFORMER_LN2_OF_BRANCH) { from = branch; }
    if (w->mistake == TRANSFORMER_PARALLEL || w->mistake == TRANSFORMER_ATTENTION_FORGOTTEN) { from = before; }
    transformer_layernorm(w, work->normalised, from, swapped ? p->ln1_weight : p->ln2_weight,
                          swapped ? p->ln1_bias : p->ln2_bias, rows);
    bool kept = w->mistake != TRANSFORMER_RESIDUAL_NOT_WRITTEN && w->mistake != TRANSFORMER_ATTENTION_FORGOTTEN;
    if (kept) {
        memcpy(residual.value, work->sum.value, count * sizeof(double));
        memcpy(residual.error, work->sum.error, count * sizeof(double));
    }
    field_free(before);
}

void transformer_block(const struct transformer *w, const struct transformer_block *p, int layer, struct field residual,
                       struct field branch, struct field k, struct field v, const float *positions) {
    struct transformer fixed = *w;
    if (w->mistake == TRANSFORMER_EPS_FIXED) {
        fixed.eps = 1e-5;
        w = &fixed;
    }
    int N = w->B * w->T;
    size_t count = (size_t)N * (size_t)w->C;
    bool swapped = w->mistake == TRANSFORMER_LN_SWAPPED;
    struct work work = {field_make(count), field_make(count), field_make(3 * count), field_make(count),
                        field_make(4 * count)};
    struct field attention_branch = field_make(count);
    bool adds = layer > 0 ? w->mistake != TRANSFORMER_BRANCH_FORGOTTEN : w->mistake == TRANSFORMER_BRANCH_IN_LAYER_0;
    if (adds) { transformer_add(w, residual, residual, branch, count); }
    memcpy(work.sum.value, residual.value, count * sizeof(double));
    memcpy(work.sum.error, residual.error, count * sizeof(double));
    transformer_layernorm(w, work.normalised, residual, swapped ? p->ln2_weight : p->ln1_weight,
                          swapped ? p->ln2_bias : p->ln1_bias, N);
    attention_part(w, p, &work, attention_branch, k, v, positions);
    second_sum(w, p, &work, residual, attention_branch, N);
    mlp_part(w, p, &work, branch);
    if (w->mistake == TRANSFORMER_BRANCHES_ADDED) { transformer_add(w, branch, branch, attention_branch, count); }
    field_free(attention_branch);
    field_free(work.sum);
    field_free(work.normalised);
    field_free(work.qkv);
    field_free(work.attention);
    field_free(work.hidden);
}
