/* backward.c — the gradients of a block's parts; see transformer.h. block_backward.c combines them. */
#include <math.h>
#include <stdlib.h>

#include "transformer.h"

static double square(double x) {
    return x * x;
}

/* ---- a linear layer ---- */

void transformer_linear_dx(const struct transformer *w, struct field dx, struct field dout, const float *weight, int N,
                           int C, int OC) {
    double growth = reference_growth(OC);
    for (int n = 0; n < N; n++) {
        for (int c = 0; c < C; c++) {
            double sum = 0.0, squares = 0.0;
            for (int o = 0; o < OC; o++) {
                int i = n * OC + o;
                double factor = weight[o * C + c], term = dout.value[i] * factor;
                sum += term;
                squares += square(dout.error[i] * factor) + square(growth * term);
            }
            dx.value[n * C + c] = sum;
            dx.error[n * C + c] = sqrt(squares + square(w->rounding * sum));
        }
    }
}

/* to += sum, a sum of `terms` terms. `squares` is the sum of their squared errors, without those of the additions. */
static void add_sum(struct field to, int i, double sum, double squares, double sizes, int terms) {
    double growth = reference_growth(terms), start = to.value[i];
    to.value[i] += sum;
    to.error[i] = sqrt(squares + square(growth) * (sizes + square(start)));
}

void transformer_linear_dweight(struct field dweight, struct field dout, const float *x, int N, int C, int OC) {
    for (int o = 0; o < OC; o++) {
        for (int c = 0; c < C; c++) {
            double sum = 0.0, squares = 0.0, sizes = 0.0;
            for (int n = 0; n < N; n++) {
                double factor = x[n * C + c], term = dout.value[n * OC + o] * factor;
                sum += term;
                squares += square(dout.error[n * OC + o] * factor);
                sizes += square(term);
            }
            add_sum(dweight, o * C + c, sum, squares, sizes, N);
        }
    }
}

void transformer_linear_dbias(struct field dbias, struct field dout, int N, int OC) {
    for (int o = 0; o < OC; o++) {
        double sum = 0.0, squares = 0.0, sizes = 0.0;
        for (int n = 0; n < N; n++) {
            sum += dout.value[n * OC + o];
            squares += square(dout.error[n * OC + o]);
            sizes += square(dout.value[n * OC + o]);
        }
        add_sum(dbias, o, sum, squares, sizes, N);
    }
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

void transformer_gelu_backward(const struct transformer *w, struct field dx, struct field dbias, struct field dout,
                               const float *x, const float *bias, int N, int C) {
    for (int c = 0; c < C; c++) {
        double sum = 0.0, squares = 0.0, sizes = 0.0;
        for (int n = 0; n < N; n++) {
            int i = n * C + c;
            double own, slope = gelu_slope(x[i], bias[c], &own), value = dout.value[i] * slope;
            double error = square(dout.error[i] * slope) + square(dout.value[i] * own);
            sum += value;
            squares += error; /* the terms of the sum are not rounded */
            sizes += square(value);
            dx.value[i] = value;
            dx.error[i] = sqrt(error + square(w->rounding * value));
        }
        add_sum(dbias, c, sum, squares, sizes, N);
    }
}

/* ---- LayerNorm: layernorm_backward/reference.c has the same formulas for exact inputs ---- */

/* One row: d, s (or NULL) and out are rows of dout, dsum and dx. */
static void layernorm_row(const struct transformer *w, struct field out, struct field d, struct field s, const float *x,
                          double mean, double rstd, const float *weight) {
    int C = w->C;
    double growth = reference_growth(C), g_mean = 0.0, gx_mean = 0.0, g_size = 0.0, gx_size = 0.0, gx_error = 0.0;
    double g_passed = 0.0, gx_passed = 0.0;
    for (int c = 0; c < C; c++) {
        double g = d.value[c] * weight[c], normal = (x[c] - mean) * rstd, passed = d.error[c] * weight[c];
        g_mean += g / C;
        gx_mean += g * normal / C;
        g_size += fabs(g) / C;
        gx_size += fabs(g * normal) / C;
        gx_error += fabs(g) * (fabs((double)x[c]) + fabs(mean)) * rstd / C;
        g_passed += square(passed / C);
        gx_passed += square(passed * normal / C);
    }
    for (int c = 0; c < C; c++) {
        double g = d.value[c] * weight[c], normal = (x[c] - mean) * rstd;
        double normal_error = (fabs((double)x[c]) + fabs(mean)) * rstd;
        double value = rstd * (g - g_mean - normal * gx_mean);
        double own = rstd * (4.0 * fabs(g) + growth * g_size + normal_error * fabs(gx_mean) +
                             fabs(normal) * (growth * gx_size + gx_error)) +
                     fabs(value);
        double passed = square(rstd) * (square(d.error[c] * weight[c]) + g_passed + square(normal) * gx_passed);
        double added = s.value ? s.value[c] : 0.0, added_error = s.value ? s.error[c] : 0.0;
        out.value[c] = value + added;
        out.error[c] = sqrt(square(own) + passed + square(added_error) + square(w->rounding * out.value[c]));
    }
}

void transformer_layernorm_backward(const struct transformer *w, struct field dx, struct field dweight,
                                    struct field dbias, struct field dout, struct field dsum,
                                    const struct transformer_norm *norm) {
    int N = w->B * w->T, C = w->C;
    for (int c = 0; c < C; c++) {
        double sum = 0.0, squares = 0.0, sizes = 0.0;
        for (int n = 0; n < N; n++) {
            int i = n * C + c;
            double x = norm->x[i], mean = norm->mean[n], rstd = norm->rstd[n], normal = (x - mean) * rstd;
            double term = dout.value[i] * normal;
            sum += term;
            squares += square(dout.error[i] * normal) + square(dout.value[i] * (fabs(x) + fabs(mean)) * rstd);
            sizes += square(term);
        }
        add_sum(dweight, c, sum, squares, sizes, N);
    }
    transformer_linear_dbias(dbias, dout, N, C);
    struct field row = field_make((size_t)C);
    for (int n = 0; n < N; n++) {
        int i = n * C;
        struct field d = {dout.value + i, dout.error + i}, s = {NULL, NULL};
        if (dsum.value) { s = (struct field){dsum.value + i, dsum.error + i}; }
        layernorm_row(w, row, d, s, norm->x + i, norm->mean[n], norm->rstd[n], norm->weight);
        for (int c = 0; c < C; c++) { /* dx may be dout */
            dx.value[i + c] = row.value[c];
            dx.error[i + c] = row.error[c];
        }
    }
    field_free(row);
}

/* ---- attention ---- */

/* One head of one sequence: all (T, D). */
struct head {
    struct field q, k, v, dout, dq, dk, dv;
};

/* to (D) += factor * x (D), in a sum with that number of terms; errors are squared until round_off. */
static void add_scaled(const struct transformer *w, struct field to, double factor, double error, struct field x, int t,
                       int from, double growth) {
    for (int d = 0; d < w->D; d++) {
        double term = factor * x.value[from * w->D + d];
        to.value[t * w->D + d] += term;
        to.error[t * w->D + d] += square(growth * term) + square(error * x.value[from * w->D + d]) +
                                  square(factor * x.error[from * w->D + d]);
    }
}

static void round_off(const struct transformer *w, struct field x, int count) {
    for (int i = 0; i < count; i++) { x.error[i] = sqrt(x.error[i] + square(w->rounding * x.value[i])); }
}

/* p (count) and ds (count) of query i, with their errors; p's are relative. */
static void query_backward(const struct transformer *w, const struct head *h, int i, int count, struct field p,
                           struct field ds) {
    double growth = reference_growth(w->D), scale = 1.0 / sqrt(w->D), sum = 0.0, sum_squares = 0.0;
    struct field q = {h->q.value + i * w->D, h->q.error + i * w->D};
    transformer_probabilities(w, p.value, p.error, q, h->k, count);
    for (int j = 0; j < count; j++) {
        double dp = 0.0, squares = 0.0;
        for (int d = 0; d < w->D; d++) {
            double v = h->v.value[j * w->D + d], term = h->dout.value[i * w->D + d] * v;
            dp += term;
            squares += square(h->dout.error[i * w->D + d] * v) + square(growth * term);
        }
        ds.value[j] = dp;
        ds.error[j] = squares + square(w->rounding * dp); /* squared, until below */
        sum += p.value[j] * dp;
        sum_squares +=
            square(p.value[j]) * (ds.error[j] + square(dp) * (square(p.error[j]) + square(reference_growth(count))));
    }
    for (int j = 0; j < count; j++) {
        double dp = ds.value[j], factor = scale * p.value[j];
        ds.value[j] = factor * (dp - sum);
        ds.error[j] = sqrt(square(factor) * (ds.error[j] + sum_squares + square(dp) + square(sum)) +
                           square(ds.value[j]) * (square(p.error[j]) + 4.0 + square(w->rounding)));
    }
}

static void head_backward(const struct transformer *w, const struct head *h, int b) {
    struct field p = field_make((size_t)w->T), ds = field_make((size_t)w->T);
    double growth = reference_growth(w->T);
    for (int i = 0; i < w->T; i++) {
        int count = transformer_keys(w, b, i);
        query_backward(w, h, i, count, p, ds);
        for (int j = 0; j < count; j++) {
            add_scaled(w, h->dq, ds.value[j], ds.error[j], h->k, i, j, growth);
            add_scaled(w, h->dk, ds.value[j], ds.error[j], h->q, j, i, growth);
            add_scaled(w, h->dv, p.value[j], p.value[j] * p.error[j], h->dout, j, i, growth);
        }
    }
    struct field all[3] = {h->dq, h->dk, h->dv};
    for (int part = 0; part < 3; part++) { round_off(w, all[part], w->T * w->D); }
    field_free(p);
    field_free(ds);
}

void transformer_attention_backward(const struct transformer *w, struct field dqkv, struct field dout,
                                    const float *qkv) {
    int T = w->T, D = w->D, C = w->C;
    size_t count = (size_t)T * (size_t)D;
    for (int b = 0; b < w->B; b++) {
        for (int head = 0; head < w->H; head++) {
            struct head h = {field_make(count), field_make(count), field_make(count), field_make(count),
                             field_make(count), field_make(count), field_make(count)};
            struct field had[3] = {h.q, h.k, h.v}, gradient[3] = {h.dq, h.dk, h.dv};
            for (int i = 0; i < T * D; i++) {
                int n = b * T + i / D, column = head * D + i % D;
                for (int part = 0; part < 3; part++) { had[part].value[i] = qkv[(n * 3 + part) * C + column]; }
                h.dout.value[i] = dout.value[n * C + column];
                h.dout.error[i] = dout.error[n * C + column];
            }
            head_backward(w, &h, b);
            for (int i = 0; i < 3 * T * D; i++) {
                int part = i / (T * D), own = i % (T * D), to = ((b * T + own / D) * 3 + part) * C + head * D + own % D;
                dqkv.value[to] = gradient[part].value[own];
                dqkv.error[to] = gradient[part].error[own];
            }
            for (int part = 0; part < 3; part++) {
                field_free(had[part]);
                field_free(gradient[part]);
            }
            field_free(h.dout);
        }
    }
}
