/* model_calls.h — calls of lab 4's ops on seeded inputs, for the tests of their references. */
#ifndef MODEL_CALLS_H
#define MODEL_CALLS_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/inputs.h"
#include "common/ops/reference.h"
#include "gpt2/formats/weights.h"

/* One call of an op: inputs and results. */
struct computed {
    const struct op *op;
    struct op_sizes sizes;
    float *tensor[OP_MAX_TENSORS];
    double *out[OP_MAX_TENSORS], *condition[OP_MAX_TENSORS];
};

static inline struct computed fill(const char *op, struct op_sizes sizes, uint64_t seed) {
    struct computed c = {.op = op_find(op), .sizes = sizes};
    for (int t = 0; t < op_tensor_count(c.op); t++) {
        size_t count = op_elements(c.op, t, &sizes) + 1;
        c.tensor[t] = calloc(count, sizeof(float));
        c.out[t] = calloc(count, sizeof(double));
        c.condition[t] = calloc(count, sizeof(double));
    }
    inputs_fill(c.op, &sizes, VALUES_NORMAL, seed, c.tensor);
    return c;
}

static inline void compute(struct computed *c) {
    reference_compute(c->op, &c->sizes, (const float *const *)c->tensor, c->out, c->condition);
}

static inline void drop(struct computed *c) {
    for (int t = 0; t < OP_MAX_TENSORS; t++) {
        free(c->tensor[t]);
        free(c->out[t]);
        free(c->condition[t]);
    }
}

static inline const float *input(const struct computed *c, const char *name) {
    return c->tensor[op_tensor_find(c->op, name)];
}

static inline const double *output(const struct computed *c, const char *name) {
    return c->out[op_tensor_find(c->op, name)];
}

static inline struct op_sizes model_sizes(int B, int T, int S, int L) {
    struct op_sizes sizes = op_model_sizes(TYPE_F32, B, T, 2, 6, S);
    sizes.L = L;
    sizes.V = 19;
    return sizes;
}

/* ---- the model of gpt2/reference.c, from the same weights ---- */

static inline bool read_packed(void *context, enum gpt2_tensor tensor, int layer, enum gpt2_type type,
                               enum gpt2_layout layout, void *to, struct gpt2_error *error) {
    const struct computed *c = context;
    struct gpt2_config config = {c->sizes.S, c->sizes.V, c->sizes.V, c->sizes.L, c->sizes.H, c->sizes.C, c->sizes.eps};
    const float *from = input(c, "weights");
    (void)type, (void)layout, (void)error;
    for (int i = 0; i < (int)tensor; i++) {
        int layers = gpt2_tensor_is_layered((enum gpt2_tensor)i) ? config.layers : 1;
        from += layers * gpt2_tensor_elements(&config, (enum gpt2_tensor)i);
    }
    size_t count = (size_t)gpt2_tensor_elements(&config, tensor);
    memcpy(to, from + (size_t)layer * count, count * sizeof(float));
    return true;
}

#endif
