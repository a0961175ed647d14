/* timed: sampled rows of timed calls are judged against regenerated inputs. */
#include <criterion/criterion.h>

#include "../timed.h"
#include "common/runner/generate.h"
#include "fakes.h"

TestSuite(timed, .timeout = 60);

enum { N = 300, C = 96, SEED = 17, SET = 3, CALLS = 5, ROWS = 4 };

static const struct op_sizes sizes = {N, C, 1e-5f};
static const int rows[ROWS] = {299, 0, 17, 17};

/* What an honest child sends: tensors made as the device makes them, the kernel called `calls` times, the rows gathered. */
static float *sample(const char *name, int (*kernel)(const struct fake *, float *const[], const struct op_sizes *),
                     int calls) {
    const struct op *op = op_find(name);
    struct fake fake = {.kernel = kernel, .lanes = 32};
    float *tensor[OP_MAX_TENSORS];
    fake_device(&fake, 0);
    for (int t = 0; t < op->tensor_count; t++) {
        tensor[t] = calloc((size_t)N * C, sizeof(float));
        for (size_t i = 0; i < op_elements(op, t, &sizes) && op->tensor[t].role == ROLE_IN; i++) {
            tensor[t][i] = generate_float(generate_key(SEED, SET, t), op->tensor[t].shape, i);
        }
    }
    for (int call = 0; call < calls; call++) { kernel(&fake, tensor, &sizes); }
    float *data = malloc(job_sample_floats(op, &sizes, ROWS) * sizeof(float)), *to = data;
    for (int r = 0; r < ROWS; r++) {
        for (int t = 0; t < op->tensor_count; t++) {
            if (op->tensor[t].role == ROLE_IN || op->tensor[t].shape == SHAPE_C) { continue; }
            int width = op->tensor[t].shape == SHAPE_NC ? C : 1;
            memcpy(to, tensor[t] + rows[r] * width, (size_t)width * sizeof(float));
            to += width;
        }
    }
    for (int t = 0; t < op->tensor_count; t++) {
        if (op->tensor[t].role == ROLE_IN || op->tensor[t].shape != SHAPE_C) { continue; }
        memcpy(to, tensor[t], C * sizeof(float));
        to += C;
    }
    for (int t = 0; t < op->tensor_count; t++) { free(tensor[t]); }
    return data;
}

static bool check(const char *op, float *data, uint64_t seed, int calls) {
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

Test(timed, rows_of_other_inputs_fail) {
    cr_assert(!check("softmax_forward", sample("softmax_forward", fake_softmax, 1), SEED + 1, 1));
    cr_assert(!check("residual_forward", sample("residual_forward", fake_residual, 1), SEED + 1, 1));
}

Test(timed, one_wrong_element_fails) {
    float *data = sample("layernorm_forward", fake_layernorm, 1);
    data[ROWS * (C + 2) - 1] *= 1.01f; /* the last row's rstd */
    cr_assert(!check("layernorm_forward", data, SEED, 1));
}

Test(timed, skipped_calls_of_an_accumulation_fail) {
    cr_assert(!check("layernorm_backward", sample("layernorm_backward", fake_backward, CALLS - 1), SEED, CALLS));
}
