/* backward.c — the gradients of a block's parts, of a block, and of a model's end; see transformer.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/reference.h"
#include "transformer.h"

static double square(double x) {
    return x * x;
}

/* Begins and ends sums of so many terms that are added to `to` (count). In between, its errors hold squares: each term
 * adds the square of its error, and its own square times the returned factor, for the rounding of the sum. */
static double sum_begin(struct field to, size_t count, size_t terms) {
    double growth = square(reference_growth((long)terms));
    for (size_t i = 0; to.error && i < count; i++) { to.error[i] = square(to.error[i]) + growth * square(to.value[i]); }
    return growth;
}
static void sum_end(struct field to, size_t count) {
    for (size_t i = 0; to.error && i < count; i++) { to.error[i] = sqrt(to.error[i]); }
}

/* ---- a linear layer ---- */

/* dx (N, C) = dout (N, OC) weight; weight (OC, C) */
static void linear_dx(const struct transformer *w, struct field dx, struct field dout, const float *weight, size_t N,
                      size_t C, size_t OC) {
    double growth = square(reference_growth((long)OC));
    for (size_t n = 0; n < N; n++) {
        struct field to = field_at(dx, n * C), from = field_at(dout, n * OC);
        memset(to.value, 0, C * sizeof(double));
        for (size_t o = 0; o < OC; o++) {
            const float *row = weight + o * C;
            for (size_t c = 0; c < C; c++) { to.value[c] += from.value[o] * row[c]; }
        }
        for (size_t c = 0; to.error && c < C; c++) {
            double squares = square(w->rounding * to.value[c]);
            for (size_t o = 0; o < OC; o++) {
                double factor = weight[o * C + c];
                squares += square(from.error[o] * factor) + growth * square(from.value[o] * factor);
            }
            to.error[c] = sqrt(squares);
        }
    }
}

/* dweight (OC, C) += dout^T x */
static void linear_dweight(struct field dweight, struct field dout, const double *x, size_t N, size_t C, size_t OC) {
    double growth = sum_begin(dweight, OC * C, N);
    for (size_t n = 0; n < N; n++) {
        for (size_t o = 0; o < OC; o++) {
            struct field to = field_at(dweight, o * C), from = field_at(dout, n * OC + o);
            for (size_t c = 0; c < C; c++) { to.value[c] += from.value[0] * x[n * C + c]; }
            for (size_t c = 0; to.error && c < C; c++) {
                to.error[c] += (square(from.error[0]) + growth * square(from.value[0])) * square(x[n * C + c]);
            }
        }
    }
    sum_end(dweight, OC * C);
}

/* dbias (OC) += sum over n of dout[n] */
static void linear_dbias(struct field dbias, struct field dout, size_t N, size_t OC) {
    double growth = sum_begin(dbias, OC, N);
    for (size_t i = 0; i < N * OC; i++) {
        dbias.value[i % OC] += dout.value[i];
        if (dbias.error) { dbias.error[i % OC] += square(dout.error[i]) + growth * square(dout.value[i]); }
    }
    sum_end(dbias, OC);
}

/* ---- GELU: bias_gelu_backward/reference.c has the same derivative, and explains its errors ---- */

static double gelu_slope(double x, double bias, double *error) {
    const double k = 0.79788456080286535588, cubic = 0.044715, tanh_is_one = 9.5;
    double u = x + bias, inner = k * (u + cubic * u * u * u), t = tanh(inner);
    double slope = 0.5 * u * k * (1.0 + 3.0 * cubic * u * u);
    double cancelled = fabs(inner) < tanh_is_one ? 2.0 * fabs(slope) : 0.0;
    *error = 4.0 + cancelled + fabs(slope) * (1.0 - t * t) * (4.0 + 2.0 * fabs(inner)) +
             1.2 * exp(-0.5 * fabs(u)) * (fabs(x) + fabs(bias));
    return 0.5 * (1.0 + t) + slope * (1.0 - t * t);
}

/* The derivative of the others at u. Only models on a device are compared with it, so it has no estimate of its error. */
static double other_slope(enum transformer_activation activation, double u) {
    const double one_by_sqrt_2pi = 0.39894228040143267794;
    if (activation == TRANSFORMER_RELU) { return u > 0.0 ? 1.0 : 0.0; }
    return 0.5 * (1.0 + erf(u / sqrt(2.0))) + u * one_by_sqrt_2pi * exp(-0.5 * u * u);
}

/* dx (N, C), which may be dout, and dbias (C); x is GELU's input, before the bias is added */
static void gelu_dx(const struct transformer *w, struct field dx, struct field dbias, struct field dout,
                    const double *x, const float *bias, size_t N, size_t C) {
    double growth = sum_begin(dbias, C, N);
    for (size_t i = 0; i < N * C; i++) {
        size_t c = i % C;
        double own, slope = gelu_slope(x[i], bias[c], &own);
        if (w->activation != TRANSFORMER_GELU_TANH) { slope = other_slope(w->activation, x[i] + bias[c]); }
        double value = dout.value[i] * slope;
        if (dx.error) {
            double error = square(dout.error[i] * slope) + square(dout.value[i] * own);
            dbias.error[c] += error + growth * square(value); /* the terms of the sum are not rounded */
            dx.error[i] = sqrt(error + square(w->rounding * value));
        }
        dbias.value[c] += value;
        dx.value[i] = value;
    }
    sum_end(dbias, C);
}

/* ---- LayerNorm: layernorm_backward/reference.c has the same formulas for exact inputs ---- */

/* The errors of one row, without dsum. gx_mean: see below. */
static void layernorm_row_errors(const struct transformer *w, struct field out, struct field d, const double *x,
                                 double mean, double rstd, const float *weight, double gx_mean) {
    int C = w->C;
    double growth = reference_growth(C), g_size = 0.0, gx_size = 0.0, gx_error = 0.0, g_passed = 0.0, gx_passed = 0.0;
    for (int c = 0; c < C; c++) {
        double g = d.value[c] * weight[c], normal = (x[c] - mean) * rstd, passed = d.error[c] * weight[c];
        g_size += fabs(g) / C;
        gx_size += fabs(g * normal) / C;
        gx_error += fabs(g) * (fabs(x[c]) + fabs(mean)) * rstd / C;
        g_passed += square(passed / C);
        gx_passed += square(passed * normal / C);
    }
    for (int c = 0; c < C; c++) {
        double g = d.value[c] * weight[c], normal = (x[c] - mean) * rstd;
        double normal_error = (fabs(x[c]) + fabs(mean)) * rstd;
        double own = rstd * (4.0 * fabs(g) + growth * g_size + normal_error * fabs(gx_mean) +
                             fabs(normal) * (growth * gx_size + gx_error)) +
                     fabs(out.value[c]);
        double passed = square(rstd) * (square(d.error[c] * weight[c]) + g_passed + square(normal) * gx_passed);
        out.error[c] = sqrt(square(own) + passed);
    }
}

/* One row, without dsum: d and out are rows of dout and dx. */
static void layernorm_row(const struct transformer *w, struct field out, struct field d, const double *x, double mean,
                          double rstd, const float *weight) {
    int C = w->C;
    double g_mean = 0.0, gx_mean = 0.0; /* of g = dout * weight, and of g times the normalised x */
    for (int c = 0; c < C; c++) {
        g_mean += d.value[c] * weight[c] / C;
        gx_mean += d.value[c] * weight[c] * (x[c] - mean) * rstd / C;
    }
    for (int c = 0; c < C; c++) {
        out.value[c] = rstd * (d.value[c] * weight[c] - g_mean - (x[c] - mean) * rstd * gx_mean);
    }
    if (out.error) { layernorm_row_errors(w, out, d, x, mean, rstd, weight, gx_mean); }
}

/* LayerNorm's input and its statistics: (N, C), (N), (N); weight (C). */
struct norm {
    const double *x, *mean, *rstd;
    const float *weight;
};

/* dx (N, C) = LayerNorm'(dout) + dsum; dweight, dbias (C). dsum's values may be NULL. dx may be dout or dsum. */
static void layernorm_dx(const struct transformer *w, struct field dx, struct field dweight, struct field dbias,
                         struct field dout, struct field dsum, const struct norm *norm, size_t N) {
    size_t C = (size_t)w->C;
    double growth = sum_begin(dweight, C, N);
    for (size_t i = 0; i < N * C; i++) {
        double x = norm->x[i], mean = norm->mean[i / C], rstd = norm->rstd[i / C], normal = (x - mean) * rstd;
        double term = dout.value[i] * normal;
        dweight.value[i % C] += term;
        if (!dweight.error) { continue; }
        dweight.error[i % C] += square(dout.error[i] * normal) + growth * square(term) +
                                square(dout.value[i] * (fabs(x) + fabs(mean)) * rstd);
    }
    sum_end(dweight, C);
    linear_dbias(dbias, dout, N, C);
    struct field row = transformer_field(w, C); /* dx may be dout */
    for (size_t n = 0; n < N; n++) {
        struct field to = field_at(dx, n * C);
        layernorm_row(w, row, field_at(dout, n * C), norm->x + n * C, norm->mean[n], norm->rstd[n], norm->weight);
        for (size_t c = 0; c < C; c++) {
            double value = row.value[c] + (dsum.value ? dsum.value[n * C + c] : 0.0);
            if (to.error) {
                double added = dsum.value ? dsum.error[n * C + c] : 0.0;
                to.error[c] = sqrt(square(row.error[c]) + square(added) + square(w->rounding * value));
            }
            to.value[c] = value;
        }
    }
    field_free(row);
}

/* ---- attention ---- */

/* One head of one sequence: q, k, v and their gradients, and dout; all (T, D). */
struct head {
    struct field part[3], gradient[3], dout;
};

/* to (D) += factor * x (D), in a sum whose growth is given; errors are squared until the end of the sum. */
static void add_scaled(struct field to, double factor, double error, struct field x, size_t D, double growth) {
    for (size_t d = 0; d < D; d++) {
        double term = factor * x.value[d];
        to.value[d] += term;
        if (to.error) {
            to.error[d] += square(growth * term) + square(error * x.value[d]) + square(factor * x.error[d]);
        }
    }
}

/* ds (count) of query i, the gradients of its scores, from its probabilities p; the errors of p are relative. first: the index
 * of the weight of key 0. */
static void scores_backward(const struct transformer *w, const struct head *h, size_t i, int count, size_t first,
                            struct field p, struct field ds) {
    size_t D = (size_t)w->D;
    struct field dout = field_at(h->dout, i * D);
    double growth = reference_growth(w->D), scale = 1.0 / sqrt(w->D), sum = 0.0, sum_squares = 0.0;
    for (int j = 0; j < count; j++) {
        const double *v = h->part[2].value + (size_t)j * D;
        double dp = 0.0, squares = 0.0;
        for (size_t d = 0; d < D; d++) { dp += dout.value[d] * v[d]; }
        transformer_drop(w, DROPOUT_OF_WEIGHTS, &dp, first + (size_t)j, 1);
        ds.value[j] = dp;
        sum += p.value[j] * dp;
        if (!ds.error) { continue; }
        for (size_t d = 0; d < D; d++) {
            squares += square(dout.error[d] * v[d]) + square(growth * dout.value[d] * v[d]);
        }
        ds.error[j] = squares + square(w->rounding * dp); /* squared, until below */
        sum_squares +=
            square(p.value[j]) * (ds.error[j] + square(dp) * (square(p.error[j]) + square(reference_growth(count))));
    }
    for (int j = 0; j < count; j++) {
        double dp = ds.value[j], factor = scale * p.value[j];
        ds.value[j] = factor * (dp - sum);
        if (!ds.error) { continue; }
        ds.error[j] = sqrt(square(factor) * (ds.error[j] + sum_squares + square(dp) + square(sum)) +
                           square(ds.value[j]) * (square(p.error[j]) + 4.0 + square(w->rounding)));
    }
}

/* head: its number among those of all sequences. */
static void head_backward(const struct transformer *w, const struct head *h, int b, size_t head) {
    size_t T = (size_t)w->T, D = (size_t)w->D;
    struct field p = transformer_field(w, T), ds = transformer_field(w, T);
    double growth = reference_growth(w->T);
    for (size_t i = 0; i < T; i++) {
        int count = transformer_keys(w, b, (int)i);
        transformer_probabilities(w, p, field_at(h->part[0], i * D), h->part[1], count);
        scores_backward(w, h, i, count, (head * T + i) * T, p, ds);
        transformer_drop(w, DROPOUT_OF_WEIGHTS, p.value, (head * T + i) * T, (size_t)count);
        for (size_t j = 0; j < (size_t)count; j++) {
            double ds_error = ds.error ? ds.error[j] : 0.0, p_error = p.error ? p.value[j] * p.error[j] : 0.0;
            add_scaled(field_at(h->gradient[0], i * D), ds.value[j], ds_error, field_at(h->part[1], j * D), D, growth);
            add_scaled(field_at(h->gradient[1], j * D), ds.value[j], ds_error, field_at(h->part[0], i * D), D, growth);
            add_scaled(field_at(h->gradient[2], j * D), p.value[j], p_error, field_at(h->dout, i * D), D, growth);
        }
    }
    for (int part = 0; part < 3; part++) {
        struct field x = h->gradient[part];
        for (size_t i = 0; x.error && i < T * D; i++) {
            x.error[i] = sqrt(x.error[i] + square(w->rounding * x.value[i]));
        }
    }
    field_free(p);
    field_free(ds);
}

/* dqkv (N, 3C) from dout (N, C) and qkv (N, 3C) of whole prompts */
static void attention_dqkv(const struct transformer *w, struct field dqkv, struct field dout, const double *qkv) {
    size_t T = (size_t)w->T, D = (size_t)w->D, C = (size_t)w->C;
    for (int b = 0; b < w->B; b++) {
        for (size_t first = 0; first < C; first += D) { /* the first channel of each head */
            struct head h = {.dout = transformer_field(w, T * D)};
            for (size_t part = 0; part < 3; part++) {
                h.part[part] = transformer_field(w, T * D);
                h.gradient[part] = transformer_field(w, T * D);
            }
            for (size_t t = 0; t < T; t++) {
                size_t n = (size_t)b * T + t;
                field_copy(field_at(h.dout, t * D), field_at(dout, n * C + first), D);
                for (size_t part = 0; part < 3; part++) {
                    memcpy(h.part[part].value + t * D, qkv + (n * 3 + part) * C + first, D * sizeof(double));
                }
            }
            head_backward(w, &h, b, ((size_t)b * C + first) / D);
            for (size_t part = 0; part < 3; part++) {
                for (size_t t = 0; t < T; t++) {
                    size_t to = (((size_t)b * T + t) * 3 + part) * C + first;
                    field_copy(field_at(dqkv, to), field_at(h.gradient[part], t * D), D);
                }
                field_free(h.part[part]);
                field_free(h.gradient[part]);
            }
            field_free(h.dout);
        }
    }
}

/* ---- a block ---- */

/* Indices of the weights' gradients, each followed by its bias's, in the order of struct transformer_block. */
enum { LN1 = 0, QKV = 2, ATTENTION = 4, LN2 = 6, FC = 8, MLP = 10 };

struct back {
    const struct transformer *w;
    const struct transformer_block *p;
    double *const *kept; /* by stage */
    const struct field *gradient;
    struct field stream; /* (N, C) */
    struct field branch; /* (N, C)    the gradient of a branch: the stream, with dropout a masked copy */
    struct field narrow; /* (N, C)    of a LayerNorm's output, and of the attention's */
    struct field wide;   /* (N, 4C)   of hidden and fc; of qkv */
    size_t N, C;
};

static bool is(const struct back *b, enum transformer_mistake mistake) {
    return b->w->mistake == mistake;
}

/* A linear layer's gradients; x_weight is the weight that computes dx. */
static void linear_backward(struct back *b, int at, struct field dx, struct field dout, const double *x,
                            const float *x_weight, bool biased, size_t C, size_t OC) {
    if (biased) { linear_dbias(b->gradient[at + 1], dout, b->N, OC); }
    linear_dweight(b->gradient[at], dout, x, b->N, C, OC);
    linear_dx(b->w, dx, dout, x_weight, b->N, C, OC);
}

static void gelu_backward(struct back *b) {
    const double *x = b->kept[is(b, TRANSFORMER_BACK_GELU_OF_HIDDEN) ? STAGE_HIDDEN : STAGE_FC];
    struct field dbias = b->gradient[FC + 1];
    if (is(b, TRANSFORMER_BACK_GELU_MISSING)) { return; }
    if (is(b, TRANSFORMER_BACK_GELU_MISSING_SUMMED)) {
        linear_dbias(dbias, b->wide, b->N, 4 * b->C);
        return;
    }
    gelu_dx(b->w, b->wide, dbias, b->wide, x, b->p->fc_bias, b->N, 4 * b->C);
    if (is(b, TRANSFORMER_BACK_FC_BIAS_TWICE)) { linear_dbias(dbias, b->wide, b->N, 4 * b->C); }
}

/* The gradient of a branch, from that of the stream to which it was added. */
static struct field branch_of(struct back *b, struct field stream, enum transformer_dropout place) {
    if (!b->w->factor) { return stream; }
    field_copy(b->branch, stream, b->N * b->C);
    transformer_drop(b->w, place, b->branch.value, 0, b->N * b->C);
    return b->branch;
}

/* `statistics`: the stage of the means, which that of the 1 / deviations follows. */
static void layernorm_backward(struct back *b, int at, enum transformer_stage x, enum transformer_stage statistics,
                               const float *weight, bool sum_forgotten) {
    struct norm norm = {b->kept[x], b->kept[statistics], b->kept[statistics + 1], weight};
    struct field none = {NULL, NULL}, dsum = sum_forgotten || is(b, TRANSFORMER_BACK_NO_SUMS) ? none : b->stream;
    layernorm_dx(b->w, b->stream, b->gradient[at], b->gradient[at + 1], b->narrow, dsum, &norm, b->N);
}

static void mlp_backward(struct back *b) {
    const struct transformer_block *p = b->p;
    bool other = is(b, TRANSFORMER_BACK_STATISTICS_2) || is(b, TRANSFORMER_BACK_STATISTICS);
    bool exchanged = is(b, TRANSFORMER_BACK_MLP_EXCHANGED), biased = true;
    enum transformer_stage ln_x = STAGE_MIDDLE, fc_x = STAGE_NORMALISED_2;
    if (is(b, TRANSFORMER_BACK_NO_MLP_BIAS) || is(b, TRANSFORMER_BACK_NO_BIASES)) { biased = false; }
    if (is(b, TRANSFORMER_BACK_FC_OF_1)) { fc_x = STAGE_NORMALISED; }
    if (is(b, TRANSFORMER_BACK_FC_OF_MIDDLE)) { fc_x = STAGE_MIDDLE; }
    if (is(b, TRANSFORMER_BACK_SUM_IS_NORMALISED)) { ln_x = STAGE_NORMALISED_2; }
    if (is(b, TRANSFORMER_BACK_SUM_2_IS_RESIDUAL)) { ln_x = STAGE_RESIDUAL; }
    linear_backward(b, MLP, b->wide, branch_of(b, b->stream, DROPOUT_OF_MLP),
                    b->kept[is(b, TRANSFORMER_BACK_MLP_OF_FC) ? STAGE_FC : STAGE_HIDDEN],
                    exchanged || is(b, TRANSFORMER_BACK_MLP_BY_FC) ? p->fc_weight : p->mlp_weight, biased, 4 * b->C,
                    b->C);
    gelu_backward(b);
    linear_backward(b, FC, b->narrow, b->wide, b->kept[fc_x],
                    exchanged || is(b, TRANSFORMER_BACK_FC_BY_MLP) ? p->mlp_weight : p->fc_weight, false, b->C,
                    4 * b->C);
    layernorm_backward(b, LN2, ln_x, other ? STAGE_MEAN : STAGE_MEAN_2, p->ln2_weight,
                       is(b, TRANSFORMER_BACK_NO_SUM_2));
}

static void attention_backward(struct back *b, struct field stream) {
    const struct transformer_block *p = b->p;
    bool other = is(b, TRANSFORMER_BACK_STATISTICS_1) || is(b, TRANSFORMER_BACK_STATISTICS),
         none = is(b, TRANSFORMER_BACK_NO_BIASES);
    enum transformer_stage ln_x = STAGE_RESIDUAL, qkv_x = STAGE_NORMALISED, attention_x = STAGE_ATTENTION;
    if (is(b, TRANSFORMER_BACK_ATTENTION_OF_2)) { attention_x = STAGE_NORMALISED_2; }
    if (is(b, TRANSFORMER_BACK_QKV_OF_2)) { qkv_x = STAGE_NORMALISED_2; }
    if (is(b, TRANSFORMER_BACK_QKV_OF_RESIDUAL)) { qkv_x = STAGE_RESIDUAL; }
    if (is(b, TRANSFORMER_BACK_SUM_IS_NORMALISED)) { ln_x = STAGE_NORMALISED; }
    if (is(b, TRANSFORMER_BACK_SUM_1_IS_MIDDLE)) { ln_x = STAGE_MIDDLE; }
    linear_backward(b, ATTENTION, b->narrow, branch_of(b, stream, DROPOUT_OF_ATTENTION), b->kept[attention_x],
                    p->attention_weight, !none && !is(b, TRANSFORMER_BACK_NO_ATTENTION_BIAS), b->C, b->C);
    if (is(b, TRANSFORMER_BACK_TRANSPOSED)) {
        transformer_linear(b->w, b->narrow, stream, p->attention_weight, NULL, b->N, b->C, b->C);
    }
    attention_dqkv(b->w, b->wide, is(b, TRANSFORMER_BACK_PROJECTION_MISSING) ? stream : b->narrow, b->kept[STAGE_QKV]);
    linear_backward(b, QKV, b->narrow, b->wide, b->kept[qkv_x], p->qkv_weight,
                    !none && !is(b, TRANSFORMER_BACK_NO_QKV_BIAS), b->C, 3 * b->C);
    layernorm_backward(b, LN1, ln_x, other ? STAGE_MEAN_2 : STAGE_MEAN, p->ln1_weight,
                       is(b, TRANSFORMER_BACK_NO_SUM_1));
}

void transformer_block_backward(const struct transformer *w, const struct transformer_block *p,
                                double *const kept[TRANSFORMER_KEPT], struct field stream,
                                const struct field gradient[TRANSFORMER_BLOCK_TENSORS]) {
    size_t N = (size_t)w->B * (size_t)w->T, C = (size_t)w->C;
    struct field narrow = transformer_field(w, N * C), wide = transformer_field(w, 4 * N * C), before = stream;
    struct field branch = transformer_field(w, N * C);
    struct back b = {w, p, kept, gradient, stream, branch, narrow, wide, N, C};
    if (is(&b, TRANSFORMER_BACK_STREAM_NOT_PASSED)) {
        before = transformer_field(w, N * C);
        field_copy(before, stream, N * C);
    }
    if (is(&b, TRANSFORMER_BACK_ORDER)) { attention_backward(&b, stream); }
    mlp_backward(&b);
    if (!is(&b, TRANSFORMER_BACK_ORDER)) { attention_backward(&b, before); }
    if (before.value != stream.value) { field_free(before); }
    field_free(branch);
    field_free(narrow);
    field_free(wide);
}

/* ---- the end of a model ---- */

void transformer_end_backward(const struct transformer *w, const struct transformer_model *model,
                              double *const kept[TRANSFORMER_KEPT], struct field dx, struct field dlogits,
                              struct field dhead, struct field dfinal_weight, struct field dfinal_bias) {
    size_t N = (size_t)w->B * (size_t)w->T, C = (size_t)w->C;
    struct norm norm = {kept[STAGE_RESIDUAL], kept[STAGE_MEAN], kept[STAGE_RSTD], model->final_weight};
    struct field dnormalised = transformer_field(w, N * C), none = {NULL, NULL};
    const float *head = model->head ? model->head : model->token_embedding;
    linear_dweight(dhead, dlogits, kept[STAGE_NORMALISED], N, C, model->V);
    linear_dx(w, dnormalised, dlogits, head, N, C, model->V);
    layernorm_dx(w, dx, dfinal_weight, dfinal_bias, dnormalised, none, &norm, N);
    field_free(dnormalised);
}
