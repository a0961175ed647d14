/* gradients: every backward reference is the derivative of its forward reference, by finite differences in float64.
 *
 * L = sum over all outputs of (gradient that comes in) * output. Inputs are multiples of 2^-10 and steps are powers of two,
 * so nothing is rounded on the way into the references, which take floats; two step sizes extrapolated leave an error of
 * the fourth order.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/ops/reference.h"

TestSuite(gradients, .timeout = 60);

enum { COUNT = 256, MAX_PAIRS = 4 };

static const double step = 0x1p-7, close_enough = 2e-6;

struct pair {
    const char *gradient, *of; /* tensor of the backward op, tensor of the forward op */
};

static const struct rule {
    const char *backward, *forward;
    struct pair in[MAX_PAIRS];  /* gradients that come in, and of which outputs */
    struct pair out[MAX_PAIRS]; /* gradients that are computed, and of which inputs */
} rules[] = {
    {"softmax_backward", "softmax_forward", {{"dout", "out"}}, {{"dx", "x"}}},
    {"causal_softmax_backward", "causal_softmax_forward", {{"dout", "out"}}, {{"dx", "x"}}},
    {"layernorm_backward",
     "layernorm_forward",
     {{"dout", "out"}},
     {{"dinp", "x"}, {"dweight", "weight"}, {"dbias", "bias"}}},
    {"residual_layernorm_backward",
     "residual_layernorm_forward",
     {{"dout", "out"}, {"dsum", "sum"}},
     {{"dinp", "x"}, {"dinp", "residual"}, {"dweight", "weight"}, {"dbias", "bias"}}},
    {"layernorm_residual_backward",
     "layernorm_residual_forward",
     {{"dout", "out"}},
     {{"dinp", "x"}, {"dweight", "weight"}, {"dbias", "bias"}}},
    {"bias_gelu_backward", "bias_gelu_forward", {{"dout", "out"}}, {{"dx", "x"}, {"dbias", "bias"}}},
};
enum { RULES = sizeof rules / sizeof *rules };

/* All tensors of one op. */
struct tensors {
    const struct op *op;
    struct op_sizes sizes;
    float value[OP_MAX_TENSORS][COUNT];
    double expected[OP_MAX_TENSORS][COUNT], condition[OP_MAX_TENSORS][COUNT];
};

static void compute(struct tensors *t) {
    const float *value[OP_MAX_TENSORS];
    double *expected[OP_MAX_TENSORS], *condition[OP_MAX_TENSORS];
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        value[i] = t->value[i];
        expected[i] = t->expected[i];
        condition[i] = t->condition[i];
    }
    reference_compute(t->op, &t->sizes, value, expected, condition);
}

/* Multiples of 2^-10 on (-2, 2). */
static float random_value(uint32_t *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return (float)(int)(*seed >> 16 & 0xfff) / 1024.0f - 2.0f;
}

static double loss(struct tensors *forward, const struct tensors *backward, const struct rule *rule) {
    double sum = 0.0;
    compute(forward);
    for (const struct pair *in = rule->in; in->gradient; in++) {
        int gradient = op_tensor_find(backward->op, in->gradient), out = op_tensor_find(forward->op, in->of);
        for (size_t i = 0; i < op_elements(forward->op, out, &forward->sizes); i++) {
            sum += backward->value[gradient][i] * forward->expected[out][i];
        }
    }
    return sum;
}

static double difference(struct tensors *forward, const struct tensors *backward, const struct rule *rule, float *at,
                         double by) {
    float value = *at;
    *at = (float)(value + by);
    double above = loss(forward, backward, rule);
    *at = (float)(value - by);
    double below = loss(forward, backward, rule);
    *at = value;
    return (above - below) / (2.0 * by);
}

/* The backward op's inputs: gradients at random, the others as the forward op has or computed them. */
static void prepare(struct tensors *forward, struct tensors *backward, uint32_t seed) {
    for (int t = 0; t < op_tensor_count(forward->op); t++) {
        for (int i = 0; i < COUNT; i++) { forward->value[t][i] = random_value(&seed); }
        if (forward->op->tensor[t].element == ELEMENT_INT) {
            memcpy(forward->value[t], (float[]){4.0f, 0.0f, 9.0f}, 12);
        }
    }
    compute(forward);
    for (int t = 0; t < op_tensor_count(backward->op); t++) {
        int same = op_tensor_find(forward->op, backward->op->tensor[t].name);
        bool computed = same >= 0 && forward->op->tensor[same].role == ROLE_OUT;
        for (int i = 0; i < COUNT; i++) {
            float value = same < 0 ? random_value(&seed) : forward->value[same][i];
            backward->value[t][i] = computed ? (float)forward->expected[same][i] : value;
        }
    }
}

ParameterizedTestParameters(gradients, agree_with_finite_differences) {
    static int index[RULES];
    for (int i = 0; i < RULES; i++) { index[i] = i; }
    return cr_make_param_array(int, index, RULES);
}

ParameterizedTest(int *index, gradients, agree_with_finite_differences) {
    const struct rule *rule = &rules[*index];
    struct tensors *forward = calloc(1, sizeof *forward), *backward = calloc(1, sizeof *backward);
    forward->op = op_find(rule->forward);
    backward->op = op_find(rule->backward);
    struct op_sizes sizes = {.N = 4, .C = 9, .eps = 1e-3f};
    if (op_is_causal(forward->op)) {
        sizes = op_causal_sizes(TYPE_F32, 3, 2, 5, 0.75f);
        sizes.lengths = 1;
    }
    forward->sizes = backward->sizes = sizes;
    prepare(forward, backward, 7);
    compute(backward);
    int compared = 0;
    for (const struct pair *out = rule->out; out->gradient && out < rule->out + MAX_PAIRS; out++) {
        int gradient = op_tensor_find(backward->op, out->gradient), in = op_tensor_find(forward->op, out->of);
        bool adds = backward->op->tensor[gradient].role == ROLE_ACCUMULATE;
        for (size_t i = 0; i < op_elements(forward->op, in, &sizes); i++) {
            float *at = &forward->value[in][i];
            double coarse = difference(forward, backward, rule, at, 2.0 * step);
            double numeric = (4.0 * difference(forward, backward, rule, at, step) - coarse) / 3.0;
            double got = backward->expected[gradient][i] - (adds ? backward->value[gradient][i] : 0.0);
            cr_assert(fabs(got - numeric) < close_enough, "%s: %s[%zu] is %.9g, numerically %.9g", rule->backward,
                      out->gradient, i, got, numeric);
            compared += numeric != 0.0;
        }
    }
    cr_assert(compared > 30, "%s: only %d gradients are not 0", rule->backward, compared);
    free(forward);
    free(backward);
}

Test(gradients, every_backward_op_is_here) {
    int count = 0;
    for (int k = 0; ops[k]; k++) {
        const struct op *op = ops[k];
        bool found = !strstr(op->name, "_backward") || op_is_of_model(op); /* a block: test_transformer */
        for (int i = 0; i < RULES; i++) { found = found || strcmp(rules[i].backward, op->name) == 0; }
        cr_assert(found, "%s", op->name);
        count += strstr(op->name, "_backward") != NULL && !op_is_of_model(op);
    }
    cr_assert_eq(count, RULES);
}
