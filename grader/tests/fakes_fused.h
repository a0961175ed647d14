/* fakes_fused.h — lab 3's ops as fakes: see fakes.h. They round to T where the contracts require it. */
#ifndef FAKES_FUSED_H
#define FAKES_FUSED_H

#include "common/ops/reference.h"
#include "fakes.h"

static inline float round_f16(float value) {
    return (float)element_round(TYPE_F16, value);
}

static inline int fake_causal(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    float *scaled = malloc((size_t)sizes->C * sizeof *scaled);
    for (int n = 0; n < sizes->N; n++) {
        size_t at = (size_t)n * (size_t)sizes->C;
        int keys = inputs_keys(sizes, tensor[2], n), end = sizes->upper ? n % sizes->C + 1 : sizes->C;
        for (int j = 0; j < keys; j++) { scaled[j] = sizes->scale * fake->input(tensor[1][at + (size_t)j]); }
        if (keys) { fake_softmax_row(fake, tensor[0] + at, scaled, keys); }
        for (int j = keys; j < end; j++) { tensor[0][at + (size_t)j] = 0.0f; }
    }
    free(scaled);
    return 0;
}

static inline int fake_softmax_backward_row(const struct fake *fake, float *dx, const float *dout, const float *out,
                                            int C, float scale) {
    struct fake_row row = {fake, dout, out, 0.0f, 0.0f};
    float sum = fake_sum(fake, C, fake_product_term, &row);
    for (int c = 0; c < C; c++) { dx[c] = fake->stored(scale * out[c] * (fake->input(dout[c]) - sum)); }
    return 0;
}

static inline int fake_softmax_backward(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (int n = 0; n < sizes->N; n++) {
        size_t at = (size_t)n * (size_t)sizes->C;
        fake_softmax_backward_row(fake, tensor[0] + at, tensor[1] + at, tensor[2] + at, sizes->C, 1.0f);
    }
    return 0;
}

static inline int fake_causal_backward(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (int n = 0; n < sizes->N; n++) {
        size_t at = (size_t)n * (size_t)sizes->C;
        int keys = inputs_keys(sizes, tensor[3], n), end = sizes->upper ? n % sizes->C + 1 : sizes->C;
        fake_softmax_backward_row(fake, tensor[0] + at, tensor[1] + at, tensor[2] + at, keys, sizes->scale);
        for (int j = keys; j < end; j++) { tensor[0][at + (size_t)j] = 0.0f; }
    }
    return 0;
}

/* The sum is rounded to T before its statistics are taken. */
static inline int fake_residual_layernorm(const struct fake *fake, float *const tensor[],
                                          const struct op_sizes *sizes) {
    for (int n = 0; n < sizes->N; n++) {
        size_t at = (size_t)n * (size_t)sizes->C;
        for (size_t i = at; i < at + (size_t)sizes->C; i++) {
            tensor[1][i] = (float)element_round(sizes->type, tensor[4][i] + tensor[5][i]);
        }
        fake_layernorm_row(fake, tensor[0] + at, tensor[2] + n, tensor[3] + n, tensor[1] + at, tensor[6], tensor[7],
                           sizes->C, sizes->eps);
    }
    return 0;
}

static inline int fake_layernorm_residual(const struct fake *fake, float *const tensor[],
                                          const struct op_sizes *sizes) {
    float *normal = malloc((size_t)sizes->C * sizeof *normal);
    for (int n = 0; n < sizes->N; n++) {
        size_t at = (size_t)n * (size_t)sizes->C;
        fake_layernorm_row(fake, normal, tensor[1] + n, tensor[2] + n, tensor[3] + at, tensor[5], tensor[6], sizes->C,
                           sizes->eps);
        for (int c = 0; c < sizes->C; c++) { tensor[0][at + (size_t)c] = normal[c] + tensor[4][at + (size_t)c]; }
    }
    free(normal);
    return 0;
}

static inline int fake_residual_backward(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    size_t count = (size_t)sizes->N * (size_t)sizes->C;
    float *dinp = malloc(count * sizeof *dinp);
    float *const plain[] = {dinp, tensor[1], tensor[2], tensor[3], tensor[5], tensor[6], tensor[7], tensor[8]};
    fake_backward(fake, plain, sizes);
    for (size_t i = 0; i < count; i++) { tensor[0][i] = tensor[4][i] + dinp[i]; }
    free(dinp);
    return 0;
}

static inline int fake_three_way_add(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) {
        tensor[0][i] = (float)element_round(sizes->type, fake->sum(tensor[1][i] + tensor[2][i])) + tensor[3][i];
    }
    return 0;
}

/* The same without that rounding. */
static inline int fake_three_way_add_at_once(const struct fake *fake, float *const tensor[],
                                             const struct op_sizes *sizes) {
    (void)fake;
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) {
        tensor[0][i] = tensor[1][i] + tensor[2][i] + tensor[3][i];
    }
    return 0;
}

static inline float fake_tanh_argument(float u) {
    return 0.7978845608f * (u + 0.044715f * u * u * u);
}

static inline int fake_gelu(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) {
        float u = fake->input(tensor[1][i] + tensor[2][i % (size_t)sizes->C]);
        float argument = fake_tanh_argument(u);
        float both =
            fake->approximate ? 1.0f / (1.0f + fake_exp(fake, -2.0f * argument)) : 0.5f * (1.0f + tanhf(argument));
        tensor[0][i] = fake->stored(u * both);
    }
    return 0;
}

static inline int fake_gelu_backward(const struct fake *fake, float *const tensor[], const struct op_sizes *sizes) {
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) {
        size_t c = i % (size_t)sizes->C;
        float u = tensor[3][i] + tensor[4][c], t = tanhf(fake_tanh_argument(u));
        float slope = 0.5f * u * (1.0f - t * t) * 0.7978845608f * (1.0f + 3.0f * 0.044715f * u * u);
        float dx = tensor[2][i] * (0.5f * (1.0f + t) + slope);
        tensor[1][c] += fake->sum(dx);
        tensor[0][i] = fake->stored(dx);
    }
    return 0;
}

#endif
