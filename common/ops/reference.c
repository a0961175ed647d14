#include "reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "elements.h"

#define OP(name) extern const struct op_reference op_reference_##name;
#include "ops/index.h"
#undef OP

const struct op_reference *reference_of(const struct op *op) {
    static const struct op_reference *const references[] = {
#define OP(name) &op_reference_##name,
#include "ops/index.h"
#undef OP
    };
    int i = 0;
    while (ops[i] != op) { i++; }
    return references[i];
}

const float *call_given(const struct op_call *call, const char *name) {
    int t = op_tensor_find(call->op, name);
    return t < 0 ? NULL : call->tensor[t];
}

double *call_expected(const struct op_call *call, const char *name) {
    int t = op_tensor_find(call->op, name);
    return t < 0 ? NULL : call->expected[t];
}

double *call_condition(const struct op_call *call, const char *name) {
    int t = op_tensor_find(call->op, name);
    return t < 0 || !call->condition ? NULL : call->condition[t];
}

double call_scalar(const struct op_call *call, const char *name) {
    int i = 0;
    while (strcmp(op_scalar_at(call->op, i)->name, name) != 0) { i++; }
    double value = op_scalar_get(call->op, call->sizes, i);
    return op_scalar_at(call->op, i)->is_float ? (double)(float)value : value;
}

void reference_compute_rows(const struct op *op, const struct op_sizes *sizes, const int *rows,
                            const float *const tensor[], double *const expected[], double *const condition[]) {
    struct op_call call = {op, sizes, rows, tensor, expected, condition};
    reference_of(op)->compute(&call, 0);
}

void reference_compute(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                       double *const expected[], double *const condition[]) {
    reference_compute_rows(op, sizes, NULL, tensor, expected, condition);
}

void reference_exact(double *expected, double *condition, size_t i, double value) {
    expected[i] = value;
    condition[i] = 0.0;
}

void reference_row_statistics(const float *x, int C, double eps, double *mean, double *rstd) {
    double sum = 0.0, squares = 0.0;
    for (int c = 0; c < C; c++) { sum += x[c]; }
    *mean = sum / C;
    for (int c = 0; c < C; c++) { squares += (x[c] - *mean) * (x[c] - *mean); }
    *rstd = 1.0 / sqrt(squares / C + eps);
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
