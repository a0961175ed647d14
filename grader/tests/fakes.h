/* fakes.h — kernels in plain C and a device that runs them, so that the judge is tested without a backend.
 *
 * A fake computes in float as a kernel would, with parameters for the differences of kernels: the number of partial
 * sums, and the rounding of values and sums.
 */
#ifndef FAKES_H
#define FAKES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "common/ops/elements.h"

typedef float rounding(float value);

static inline float round_none(float value) {
    return value;
}

/* Keeps the given number of explicit mantissa bits, to nearest: 7 is bf16, 10 is TF32 and (in range) fp16. */
static inline float round_bits(float value, int bits) {
    uint32_t word;
    if (!isfinite(value)) { return value; }
    memcpy(&word, &value, sizeof word);
    uint32_t half = 1u << (22 - bits), mask = ~((1u << (23 - bits)) - 1);
    word = (word + half) & mask;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline float round_bf16(float value) {
    return round_bits(value, 7);
}
static inline float round_tf32(float value) {
    return round_bits(value, 10);
}

struct fake {
    int lanes;        /* partial sums; 1: one after the other */
    rounding *input;  /* of values that are read */
    rounding *sum;    /* of every partial sum */
    rounding *stored; /* of values that are written */
    bool online;      /* softmax: running maximum; LayerNorm: Welford */
    bool approximate; /* exp as in __expf: exp2(x * log2 e) in float */
    bool fused;       /* multiply-adds are fused */
    int (*kernel)(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes);
    int calls;                                    /* counted by the device */
    bool rehearsed;                               /* this call was preceded by a rehearsal */
    enum child_status status;                     /* CHILD_OK: the call works */
    struct finding_record *finding;               /* one finding, or NULL */
    bool writes_input, overruns, silent, on_host; /* silent: ignores a refused launch */
};

/* A tensor's place in the buffers. */
static inline char *fake_tensor(const struct job *job, const struct op *op, void *const buffers[], int t) {
    int from = job->alias_of[t] >= 0 ? job->alias_of[t] : t;
    return (char *)buffers[from] + job_lead_bytes(job, op, t);
}

/* Fakes compute on floats, unpacked before the kernel and packed after it. */
static inline int fake_run(struct fake *fake, const struct job *job, const struct op *op, void *const buffers[]) {
    float *tensor[OP_MAX_TENSORS] = {0};
    const struct op_sizes *sizes = &job->sizes;
    for (int t = 0; t < op_tensor_count(op); t++) {
        size_t count = op_elements(op, t, sizes);
        if (job->alias_of[t] >= 0) { continue; }
        tensor[t] = calloc(count + 1, sizeof(float));
        if (op_is_given(op, t, sizes)) {
            elements_unpack(op->tensor[t].element, sizes->type, fake_tensor(job, op, buffers, t), count, tensor[t]);
        }
    }
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (job->alias_of[t] >= 0) { tensor[t] = tensor[job->alias_of[t]]; }
    }
    int status = fake->kernel(fake, tensor, sizes);
    if (fake->writes_input) { tensor[op_tensor_count(op) - 1][0] += 1.0f; }
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (job->alias_of[t] >= 0 || !op_is_given(op, t, sizes)) { continue; }
        elements_pack(op->tensor[t].element, sizes->type, tensor[t], op_elements(op, t, sizes),
                      fake_tensor(job, op, buffers, t));
    }
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (job->alias_of[t] < 0) { free(tensor[t]); }
    }
    return status;
}

/* A device's `call`: runs fake->kernel on the tensors inside the buffers. */
static inline enum child_status fake_call(void *context, const struct job *job, void *const buffers[],
                                          struct result *result, struct finding_record **findings) {
    struct fake *fake = context;
    const struct op *op = op_find(job->op);
    *result = (struct result){0};
    *findings = NULL;
    if (fake->status != CHILD_OK) { return fake->status; }
    fake->calls++;
    fake->rehearsed = job->rehearse;
    if (job->refuse_launches && !fake->silent) { return result->status = 701, CHILD_OK; }
    result->status = job->sizes.N == 0 ? 0 : fake_run(fake, job, op, buffers);
    result->counters.launches = result->status == 0 && !fake->on_host;
    result->returned = 1;
    size_t bytes = op_elements(op, 0, &job->sizes) * op_element_bytes(op, 0, job->sizes.type);
    if (fake->overruns && job->guard) { fake_tensor(job, op, buffers, 0)[bytes] ^= 1; }
    if (fake->finding) {
        *findings = malloc(sizeof **findings);
        **findings = *fake->finding;
        result->finding_count = 1;
    }
    return CHILD_OK;
}

static inline const char *fake_message(void *context) {
    (void)context;
    return "the fake was told to fail";
}

static inline struct device fake_device(struct fake *fake, int guard) {
    if (!fake->input) { fake->input = round_none; }
    if (!fake->sum) { fake->sum = round_none; }
    if (!fake->stored) { fake->stored = round_none; }
    if (!fake->lanes) { fake->lanes = 1; }
    return (struct device){.call = fake_call, .message = fake_message, .context = fake, .guard = guard};
}

static inline float fake_exp(const struct fake *fake, float x) {
    return fake->approximate ? exp2f(x * 1.44269504f) : expf(x);
}

/* Sum of value(c) over c: every lane adds its own columns, then a tree adds the lanes. */
static inline float fake_sum(const struct fake *fake, int C, float (*value)(const void *, int), const void *context) {
    float partial[1024] = {0};
    for (int c = 0; c < C; c++) {
        int lane = c % fake->lanes;
        partial[lane] = fake->sum(partial[lane] + value(context, c));
    }
    for (int stride = fake->lanes / 2; stride > 0; stride /= 2) {
        for (int lane = 0; lane < stride; lane++) { partial[lane] = fake->sum(partial[lane] + partial[lane + stride]); }
    }
    return partial[0];
}

struct fake_row {
    const struct fake *fake;
    const float *x, *y;
    float a, b;
};

static inline float fake_read(const void *context, int c) {
    const struct fake_row *row = context;
    return row->fake->input(row->x[c]);
}

static inline float fake_exp_term(const void *context, int c) {
    const struct fake_row *row = context;
    return fake_exp(row->fake, row->fake->input(row->x[c]) - row->a);
}

static inline float fake_square_term(const void *context, int c) {
    const struct fake_row *row = context;
    float distance = row->fake->input(row->x[c]) - row->a;
    return distance * distance;
}

static inline float fake_product_term(const void *context, int c) {
    const struct fake_row *row = context;
    return row->fake->input(row->x[c]) * row->fake->input(row->y[c]);
}

static inline void fake_softmax_row(const struct fake *fake, float *out, const float *x, int C) {
    struct fake_row row = {fake, x, NULL, -INFINITY, 0.0f};
    float sum = 0.0f;
    if (fake->online) {
        for (int c = 0; c < C; c++) {
            float value = fake->input(x[c]);
            if (value > row.a) {
                sum = row.a == -INFINITY ? 0.0f : sum * fake_exp(fake, row.a - value);
                row.a = value;
            }
            sum = fake->sum(sum + (value == -INFINITY && row.a == -INFINITY ? 0.0f : fake_exp(fake, value - row.a)));
        }
        if (row.a == -INFINITY) { sum = NAN; }
    } else {
        for (int c = 0; c < C; c++) { row.a = fmaxf(row.a, fake->input(x[c])); }
        sum = fake_sum(fake, C, fake_exp_term, &row);
    }
    for (int c = 0; c < C; c++) { out[c] = fake->stored(fake_exp(fake, fake->input(x[c]) - row.a) / sum); }
}

static inline int fake_softmax(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (int n = 0; n < sizes->N; n++) {
        size_t at = (size_t)n * (size_t)sizes->C;
        fake_softmax_row(fake, tensor[0] + at, tensor[1] + at, sizes->C);
    }
    return 0;
}

static inline void fake_layernorm_row(const struct fake *fake, float *out, float *mean, float *rstd, const float *x,
                                      const float *weight, const float *bias, int C, float eps) {
    struct fake_row row = {fake, x, NULL, 0.0f, 0.0f};
    float squares = 0.0f;
    if (fake->online) { /* Welford's method per lane; the lanes are merged by Chan's */
        float count = 0.0f;
        for (int lane = 0; lane < fake->lanes && lane < C; lane++) {
            float own = 0.0f, mean_of_own = 0.0f, squares_of_own = 0.0f;
            for (int c = lane; c < C; c += fake->lanes) {
                float distance = x[c] - mean_of_own;
                mean_of_own += distance / ++own;
                squares_of_own += distance * (x[c] - mean_of_own);
            }
            float apart = mean_of_own - row.a;
            row.a = count == 0.0f ? mean_of_own : row.a + apart * own / (count + own);
            squares += squares_of_own + (count == 0.0f ? 0.0f : apart * apart * count * own / (count + own));
            count += own;
        }
    } else {
        row.a = fake_sum(fake, C, fake_read, &row) / (float)C;
        squares = fake_sum(fake, C, fake_square_term, &row);
    }
    float root = 1.0f / sqrtf(squares / (float)C + eps);
    for (int c = 0; c < C; c++) {
        float normal = (fake->input(x[c]) - row.a) * root;
        out[c] = fake->stored(fake->fused ? fmaf(normal, weight[c], bias[c]) : normal * weight[c] + bias[c]);
    }
    *mean = row.a;
    *rstd = root;
}

static inline int fake_layernorm(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (int n = 0; n < sizes->N; n++) {
        size_t at = (size_t)n * (size_t)sizes->C;
        fake_layernorm_row(fake, tensor[0] + at, tensor[1] + n, tensor[2] + n, tensor[3] + at, tensor[4], tensor[5],
                           sizes->C, sizes->eps);
    }
    return 0;
}

static inline int fake_backward(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    int N = sizes->N, C = sizes->C;
    const float *weight = tensor[5];
    for (int k = 0; k < N; k++) {
        int n = fake->lanes > 1 ? N - 1 - k : k; /* rows in another order */
        const float *dout = tensor[3] + (size_t)n * (size_t)C, *x = tensor[4] + (size_t)n * (size_t)C;
        float *dinp = tensor[0] + (size_t)n * (size_t)C, mean = tensor[6][n], rstd = tensor[7][n], first = 0.0f,
              second = 0.0f;
        for (int c = 0; c < C; c++) {
            float normal = (fake->input(x[c]) - mean) * rstd, g = fake->input(dout[c]) * weight[c];
            first = fake->sum(first + g);
            second = fake->sum(fake->fused ? fmaf(g, normal, second) : second + g * normal);
        }
        first /= (float)C;
        second /= (float)C;
        for (int c = 0; c < C; c++) {
            float normal = (fake->input(x[c]) - mean) * rstd, d = dout[c], g = d * weight[c];
            tensor[1][c] = fake->sum(tensor[1][c] + d * normal);
            tensor[2][c] = fake->sum(tensor[2][c] + d);
            dinp[c] = fake->stored(rstd * (g - first - normal * second));
        }
    }
    return 0;
}

static inline int fake_residual(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) {
        tensor[0][i] = fake->stored(fake->input(tensor[1][i]) + fake->input(tensor[2][i]));
    }
    return 0;
}

static inline int fake_bias_add(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) {
        tensor[0][i] = fake->stored(tensor[1][i] + tensor[2][i % (size_t)sizes->C]);
    }
    return 0;
}

static inline int fake_rows(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes,
                            float (*term)(const void *, int)) {
    for (int n = 0; n < sizes->N; n++) {
        struct fake_row row = {fake, tensor[1] + (size_t)n * (size_t)sizes->C, tensor[2], 0.0f, 0.0f};
        tensor[0][n] = fake_sum(fake, sizes->C, term, &row);
    }
    return 0;
}

static inline int fake_row_sum(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return fake_rows(fake, tensor, sizes, fake_read);
}
static inline int fake_row_sum_squares(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return fake_rows(fake, tensor, sizes, fake_square_term);
}
static inline int fake_row_dot(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    return fake_rows(fake, tensor, sizes, fake_product_term);
}

#endif
