/* timed: sampled rows of timed calls are judged against regenerated inputs. */
#include <criterion/criterion.h>

#include "../timed.h"
#include "common/runner/generate.h"
#include "fakes_fused.h"

TestSuite(timed, .timeout = 60);

enum { N = 300, C = 96, SEED = 17, SET = 3, CALLS = 5, ROWS = 4 };

static struct op_sizes sizes = {.N = N, .C = C, .eps = 1e-5f};
static const int rows[ROWS] = {287, 0, 17, 17};

/* The next elements of a tensor, as its type has them. */
static char *put(char *to, const struct op *op, int t, const float *values, size_t count) {
    elements_pack(op->tensor[t].element, sizes.type, values, count, to);
    return to + count * op_element_bytes(op, t, sizes.type);
}

/* What an honest child sends: tensors made as the device makes them, the kernel called `calls` times, the rows gathered. */
static char *sample(const char *name, int (*kernel)(const struct fake *, float *const[], const struct op_sizes *),
                    int calls) {
    const struct op *op = op_find(name);
    struct fake fake = {.kernel = kernel, .lanes = 32};
    float *tensor[OP_MAX_TENSORS];
    fake_device(&fake, 0);
    for (int t = 0; t < op_tensor_count(op); t++) {
        tensor[t] = calloc((size_t)N * C, sizeof(float));
        for (size_t i = 0; i < op_elements(op, t, &sizes) && op->tensor[t].role == ROLE_IN; i++) {
            float value = generate_float(generate_key(SEED, SET, t), op_has_rows(op, t), i);
            tensor[t][i] = (float)element_round(element_type(op, t, sizes.type), value);
        }
    }
    for (int call = 0; call < calls; call++) { kernel(&fake, tensor, &sizes); }
    char *data = malloc(job_sample_bytes(op, &sizes, ROWS)), *to = data;
    for (int r = 0; r < ROWS; r++) {
        for (int t = 0; t < op_tensor_count(op); t++) {
            if (op->tensor[t].role == ROLE_IN || op_shape_is(op, t, "C")) { continue; }
            size_t width = op_has_rows(op, t) ? C : 1;
            to = put(to, op, t, tensor[t] + (size_t)rows[r] * width, width);
        }
    }
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (op->tensor[t].role == ROLE_IN || !op_shape_is(op, t, "C")) { continue; }
        to = put(to, op, t, tensor[t], C);
    }
    for (int t = 0; t < op_tensor_count(op); t++) { free(tensor[t]); }
    return data;
}

static bool check(const char *op, char *data, uint64_t seed, int calls) {
    bool right = timed_check(NULL, op_find(op), &sizes, seed, SET, calls, rows, ROWS, data);
    free(data);
    return right;
}

Test(timed, honest_rows_pass) {
    cr_assert(check("softmax_forward", sample("softmax_forward", fake_softmax, CALLS), SEED, CALLS));
    cr_assert(check("layernorm_forward", sample("layernorm_forward", fake_layernorm, CALLS), SEED, CALLS));
    cr_assert(check("residual_forward", sample("residual_forward", fake_residual, CALLS), SEED, CALLS));
    cr_assert(check("layernorm_backward", sample("layernorm_backward", fake_backward, CALLS), SEED, CALLS));
    cr_assert(check("row_dot", sample("row_dot", fake_row_dot, CALLS), SEED, CALLS));
}

Test(timed, honest_rows_pass_in_every_type) {
    for (int type = 0; type < OP_TYPES; type++) {
        sizes = (struct op_sizes){.N = N, .C = C, .eps = 1e-5f, .type = (enum op_type)type};
        const char *op = "residual_layernorm_forward";
        cr_assert(check(op, sample(op, fake_residual_layernorm, CALLS), SEED, CALLS), "%d", type);
        op = "residual_layernorm_backward";
        cr_assert(check(op, sample(op, fake_residual_backward, CALLS), SEED, CALLS), "%d", type);
        sizes = op_causal_sizes((enum op_type)type, 3, 1, C, 0.125f);
        op = "causal_softmax_forward"; /* a row's mask is that of its place in the whole */
        cr_assert(check(op, sample(op, fake_causal, CALLS), SEED, CALLS), "%d", type);
        cr_assert(!check(op, sample(op, fake_softmax, CALLS), SEED, CALLS), "%d: nothing masked", type);
        op = "causal_softmax_backward";
        cr_assert(check(op, sample(op, fake_causal_backward, CALLS), SEED, CALLS), "%d", type);
        cr_assert(!check(op, sample(op, fake_causal_backward, CALLS), SEED + 1, CALLS), "%d: other inputs", type);
    }
}

Test(timed, rows_of_other_inputs_fail) {
    cr_assert(!check("softmax_forward", sample("softmax_forward", fake_softmax, 1), SEED + 1, 1));
    cr_assert(!check("residual_forward", sample("residual_forward", fake_residual, 1), SEED + 1, 1));
}

Test(timed, one_wrong_element_fails) {
    char *data = sample("layernorm_forward", fake_layernorm, 1);
    ((float *)data)[ROWS * (C + 2) - 1] *= 1.01f; /* the last row's rstd */
    cr_assert(!check("layernorm_forward", data, SEED, 1));
}

Test(timed, skipped_calls_of_an_accumulation_fail) {
    cr_assert(!check("layernorm_backward", sample("layernorm_backward", fake_backward, CALLS - 1), SEED, CALLS));
}
