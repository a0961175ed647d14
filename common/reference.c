#include "reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "elements.h"
#include "reference_parts.h"
#include "wiring.h"

double reference_growth(long terms) {
    return 4.0 + sqrt((double)terms);
}

void reference_exact(double *expected, double *condition, size_t i, double value) {
    expected[i] = value;
    condition[i] = 0.0;
}

static void reference_wiring(const struct reference_call *call) {
    wiring_compute(call->op, call->sizes, call->tensor, WIRING_RIGHT, call->expected, call->condition);
}

static void reference_wiring_backward(const struct reference_call *call) {
    wiring_compute_backward(call->op, call->sizes, call->tensor, WIRING_RIGHT, call->expected, call->condition);
}

static const struct {
    const char *op;
    reference_part *compute;
} references[] = {
    {"residual_forward", reference_residual},
    {"softmax_forward", reference_softmax_forward},
    {"softmax_backward", reference_softmax_backward},
    {"causal_softmax_forward", reference_causal_forward},
    {"causal_softmax_backward", reference_causal_backward},
    {"layernorm_forward", reference_layernorm_forward},
    {"layernorm_backward", reference_layernorm_backward},
    {"residual_layernorm_forward", reference_layernorm_forward},
    {"residual_layernorm_backward", reference_layernorm_backward},
    {"layernorm_residual_forward", reference_layernorm_forward},
    {"layernorm_residual_backward", reference_layernorm_backward},
    {"bias_gelu_forward", reference_gelu_forward},
    {"bias_gelu_backward", reference_gelu_backward},
    {"three_way_add", reference_three_way_add},
    {"row_sum", reference_row_sum},
    {"row_sum_squares", reference_row_sum_squares},
    {"row_dot", reference_row_dot},
    {"bias_add", reference_bias_add},
    {"attention_forward", reference_wiring},
    {"decode_attention", reference_wiring},
    {"block_forward", reference_wiring},
    {"block_backward", reference_wiring_backward},
    {"gpt2_forward", reference_wiring},
    {"gpt2_decode", reference_wiring},
};

bool reference_compute_rows(const struct op *op, const struct op_sizes *sizes, const int *rows,
                            const float *const tensor[], double *const expected[], double *const condition[]) {
    struct reference_call call = {op, sizes, rows, tensor, expected, condition};
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        if (strcmp(references[i].op, op->name) == 0) {
            references[i].compute(&call);
            return true;
        }
    }
    return false;
}

bool reference_compute(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                       double *const expected[], double *const condition[]) {
    return reference_compute_rows(op, sizes, NULL, tensor, expected, condition);
}

double reference_tolerance(double condition) {
    return condition == 0.0 ? 0.0 : 4.0 * 0x1p-24 * condition + 2.0 * FLT_MIN;
}

double reference_allowance(enum op_type type, double expected, double condition) {
    if (type == TYPE_F32 || condition == 0.0) { return reference_tolerance(condition); }
    return reference_tolerance(condition) + element_ulp(type, element_round(type, expected));
}

bool reference_accepts(enum op_type type, double expected, double condition, float got) {
    if (isinf(condition)) { return true; }
    if (isnan(expected)) { return isnan(got); }
    double rounded = element_round(type, expected);
    if (condition == 0.0 || isinf(rounded)) { return got == rounded; }
    if (type == TYPE_F32) { return fabs(got - expected) <= reference_tolerance(condition); }
    return fabs(got - rounded) <= reference_allowance(type, expected, condition);
}

bool reference_misrounded(enum op_type type, double expected, double condition, float got) {
    double tolerance = reference_tolerance(condition);
    if (type == TYPE_F32 || condition == 0.0 || !isfinite(condition) || !isfinite(expected)) { return false; }
    return !(got >= element_round(type, expected - tolerance) && got <= element_round(type, expected + tolerance));
}

long reference_misrounded_allowed(size_t count) {
    return 1 + (long)(count / 100);
}
