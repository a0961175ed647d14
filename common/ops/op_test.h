/* op_test.h — what the tests of an op's reference share: one call with tensors by name, the byte floor, and finite differences.
 * The tests of op NAME are common/ops/NAME/tests/test_NAME.c, in the suite NAME; all are linked into test_op_references.
 */
#ifndef OP_TEST_H
#define OP_TEST_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/inputs.h"
#include "common/ops/reference.h"

/* One call of an op: inputs, and the reference's outputs. */
struct computed {
    const struct op *op;
    struct op_sizes sizes;
    float *tensor[OP_MAX_TENSORS];
    double *out[OP_MAX_TENSORS], *condition[OP_MAX_TENSORS];
};

/* The inputs are seeded; give() replaces one of them. */
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

static inline void compute_rows(struct computed *c, const int *rows) {
    reference_compute_rows(c->op, &c->sizes, rows, (const float *const *)c->tensor, c->out, c->condition);
}

static inline void compute(struct computed *c) {
    compute_rows(c, NULL);
}

static inline void drop(struct computed *c) {
    for (int t = 0; t < OP_MAX_TENSORS; t++) {
        free(c->tensor[t]);
        free(c->out[t]);
        free(c->condition[t]);
    }
}

static inline int tensor_index(const struct computed *c, const char *name) {
    int t = op_tensor_find(c->op, name);
    cr_assert(t >= 0, "%s has no tensor %s", c->op->name, name);
    return t;
}

static inline float *tensor(struct computed *c, const char *name) {
    return c->tensor[tensor_index(c, name)];
}

static inline const float *input(const struct computed *c, const char *name) {
    return c->tensor[tensor_index(c, name)];
}

static inline const double *output(const struct computed *c, const char *name) {
    return c->out[tensor_index(c, name)];
}

static inline const double *condition(const struct computed *c, const char *name) {
    return c->condition[tensor_index(c, name)];
}

static inline size_t elements(const struct computed *c, const char *name) {
    return op_elements(c->op, tensor_index(c, name), &c->sizes);
}

/* ---- known values: give(&c, "x", 1, 2, 3), expect(&c, "out", tolerance, 1, 2, 3), with all elements of the tensor ---- */

#define give(c, name, ...) \
    give_values(c, name, (const float[]){__VA_ARGS__}, sizeof(float[]){__VA_ARGS__} / sizeof(float))
#define expect(c, name, tolerance, ...) \
    expect_values(c, name, tolerance, (const double[]){__VA_ARGS__}, sizeof(double[]){__VA_ARGS__} / sizeof(double))

static inline void give_values(struct computed *c, const char *name, const float *values, size_t count) {
    cr_assert_eq(count, elements(c, name), "%s: %zu values", name, count);
    memcpy(tensor(c, name), values, count * sizeof *values);
}

static inline void give_all(struct computed *c, const char *name, float value) {
    for (size_t i = 0; i < elements(c, name); i++) { tensor(c, name)[i] = value; }
}

/* The same values as a tensor of another call. */
static inline void give_from(struct computed *c, const char *name, const struct computed *from, const char *other) {
    give_values(c, name, input(from, other), elements(from, other));
}

static inline void expect_values(const struct computed *c, const char *name, double tolerance, const double *values,
                                 size_t count) {
    cr_assert_eq(count, elements(c, name), "%s: %zu values", name, count);
    for (size_t i = 0; i < count; i++) {
        double got = output(c, name)[i];
        cr_assert(got == values[i] || fabs(got - values[i]) <= tolerance, "%s: %s[%zu] is %.17g, expected %.17g",
                  c->op->name, name, i, got, values[i]);
    }
}

/* ---- the byte floor ---- */

/* In each type of the op: so many values of type T, and so many floats and ints of 4 bytes. */
static inline void expect_floor(const char *name, struct op_sizes sizes, size_t values, size_t floats) {
    static const size_t bytes[OP_TYPES] = {[TYPE_F32] = 4, [TYPE_F16] = 2, [TYPE_BF16] = 2};
    const struct op *op = op_find(name);
    for (int type = 0; type < OP_TYPES; type++) {
        if (!(op->types >> type & 1)) { continue; }
        sizes.type = (enum op_type)type;
        size_t found = op_floor_bytes(op, &sizes), expected = values * bytes[type] + 4 * floats;
        cr_assert_eq(found, expected, "%s_%s: %zu bytes, expected %zu", name, op_type_name(sizes.type), found,
                     expected);
    }
}

/* The shape of a row op's floor, with so many rows and columns that vectors hardly count. */
enum { FLOOR_N = 1 << 16, FLOOR_C = 1 << 10 };
static const struct op_sizes floor_sizes = {.N = FLOOR_N, .C = FLOOR_C};
static const size_t floor_matrix = (size_t)FLOOR_N * FLOOR_C;

/* That of a causal op: as many elements, of which so many are on and below the diagonal. */
static const size_t floor_triangle = (size_t)FLOOR_N / FLOOR_C * (FLOOR_C * (FLOOR_C + 1) / 2);

static inline struct op_sizes floor_causal(int upper) {
    struct op_sizes sizes = op_causal_sizes(TYPE_F32, 8, 8, FLOOR_C, 1.0f);
    sizes.upper = upper;
    return sizes;
}

/* That of a model's part: 2 sequences of 3 tokens, 2 heads of 5 channels, 7 positions. */
static inline struct op_sizes floor_of_model(void) {
    return op_model_sizes(TYPE_F32, 2, 3, 2, 5, 7);
}

/* A whole model of L layers: 2 heads of 6 channels, 19 tokens in the vocabulary. */
static inline struct op_sizes model_sizes(int B, int T, int S, int L) {
    struct op_sizes sizes = op_model_sizes(TYPE_F32, B, T, 2, 6, S);
    sizes.L = L;
    sizes.V = 19;
    return sizes;
}

/* ---- finite differences ----
 *
 * A backward reference is the derivative of L = sum over all outputs of (gradient that comes in) * output of its forward
 * reference. Inputs are multiples of 2^-10 and steps are powers of two, so nothing is rounded on the way into the references,
 * which take floats. Two step sizes extrapolated leave an error of the fourth order.
 */
enum { GRADIENT_PAIRS = 5 };

struct gradient_rule {
    const char *backward, *forward;
    struct gradient_pair {
        const char *gradient, *of; /* tensor of the backward op, tensor of the forward op */
    } in[GRADIENT_PAIRS],          /* gradients that come in, and of which outputs */
        out[GRADIENT_PAIRS];       /* gradients that are computed, and of which inputs */
};

/* Multiples of 2^-10 on (-2, 2). */
static inline float gradient_value(uint32_t *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return (float)(int)(*seed >> 16 & 0xfff) / 1024.0f - 2.0f;
}

static inline double gradient_loss(struct computed *forward, const struct computed *backward,
                                   const struct gradient_rule *rule) {
    double sum = 0.0;
    compute(forward);
    for (const struct gradient_pair *pair = rule->in; pair->gradient; pair++) {
        const float *gradient = input(backward, pair->gradient);
        const double *out = output(forward, pair->of);
        for (size_t i = 0; i < elements(forward, pair->of); i++) { sum += gradient[i] * out[i]; }
    }
    return sum;
}

static inline double gradient_difference(struct computed *forward, const struct computed *backward,
                                         const struct gradient_rule *rule, float *at, double by) {
    float value = *at;
    *at = (float)(value + by);
    double above = gradient_loss(forward, backward, rule);
    *at = (float)(value - by);
    double below = gradient_loss(forward, backward, rule);
    *at = value;
    return (above - below) / (2.0 * by);
}

/* The backward op's inputs: gradients at random, the others as the forward op has or computed them. */
static inline void gradient_prepare(struct computed *forward, struct computed *backward, uint32_t seed) {
    for (int t = 0; t < op_tensor_count(forward->op); t++) {
        size_t count = op_elements(forward->op, t, &forward->sizes);
        for (size_t i = 0; i < count; i++) { forward->tensor[t][i] = gradient_value(&seed); }
        if (forward->op->tensor[t].element == ELEMENT_INT) {
            cr_assert_eq(count, 3u);
            memcpy(forward->tensor[t], (float[]){4.0f, 0.0f, 9.0f}, 12);
        }
    }
    compute(forward);
    for (int t = 0; t < op_tensor_count(backward->op); t++) {
        int same = op_tensor_find(forward->op, backward->op->tensor[t].name);
        bool computed = same >= 0 && forward->op->tensor[same].role == ROLE_OUT;
        for (size_t i = 0; i < op_elements(backward->op, t, &backward->sizes); i++) {
            float value = same < 0 ? gradient_value(&seed) : forward->tensor[same][i];
            backward->tensor[t][i] = computed ? (float)forward->out[same][i] : value;
        }
    }
}

static inline void expect_gradients(const struct gradient_rule *rule) {
    static const double step = 0x1p-7, close_enough = 2e-6;
    struct op_sizes sizes = {.N = 4, .C = 9, .eps = 1e-3f};
    if (op_is_on_matrices(op_find(rule->forward))) {
        sizes = op_causal_sizes(TYPE_F32, 3, 2, 5, 0.75f);
        sizes.lengths = 1;
    }
    struct computed forward = fill(rule->forward, sizes, 1), backward = fill(rule->backward, sizes, 1);
    gradient_prepare(&forward, &backward, 7);
    compute(&backward);
    int compared = 0;
    for (const struct gradient_pair *out = rule->out; out->gradient; out++) {
        bool adds = backward.op->tensor[tensor_index(&backward, out->gradient)].role == ROLE_ACCUMULATE;
        for (size_t i = 0; i < elements(&forward, out->of); i++) {
            float *at = &tensor(&forward, out->of)[i];
            double coarse = gradient_difference(&forward, &backward, rule, at, 2.0 * step);
            double numeric = (4.0 * gradient_difference(&forward, &backward, rule, at, step) - coarse) / 3.0;
            double got = output(&backward, out->gradient)[i] - (adds ? input(&backward, out->gradient)[i] : 0.0);
            cr_assert(fabs(got - numeric) < close_enough, "%s: %s[%zu] is %.9g, numerically %.9g", rule->backward,
                      out->gradient, i, got, numeric);
            compared += numeric != 0.0;
        }
    }
    cr_assert(compared > 30, "%s: only %d gradients are not 0", rule->backward, compared);
    drop(&forward);
    drop(&backward);
}

#endif
