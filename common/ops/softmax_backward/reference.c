/* softmax_backward in float64. */
#include <float.h>
#include <math.h>

#include "ops/elements.h"
#include "softmax_backward.h"

void softmax_backward_row(const float *dout, const float *out, int C, double scale, double *dx, double *condition) {
    double sum = 0.0, size = 0.0;
    for (int c = 0; c < C; c++) {
        double term = (double)out[c] * dout[c];
        sum += term;
        size += fabs(term);
    }
    for (int c = 0; c < C; c++) {
        dx[c] = scale * out[c] * (dout[c] - sum);
        condition[c] = fabs(scale * out[c]) * (2.0 * fabs((double)dout[c]) + reference_growth(C) * size) +
                       2.0 * fabs(dx[c]) + DBL_MIN;
        if (isnan(dx[c])) { condition[c] = 0.0; }
    }
}

/* exp(score), and 0 for the lowest of the inputs, as where a score underflows. A row's last key is kept. */
static double weight_of(const float *row, size_t c, size_t width) {
    return row[c] < -1.4f && c + 1 < width ? 0.0 : exp(2.0 * row[c]);
}

void softmax_complete(const struct op *op, const struct op_sizes *sizes, float *const tensor[]) {
    int lengths = op_tensor_find(op, "lengths");
    size_t C = (size_t)sizes->C;
    for (size_t n = 0; n < (size_t)sizes->N; n++) {
        float *row = tensor[op_tensor_find(op, "out")] + n * C;
        const float *keys = lengths >= 0 ? tensor[lengths] : NULL;
        size_t width = op_is_on_matrices(op) ? (size_t)inputs_keys(sizes, keys, (int)n) : C;
        double sum = 0.0;
        for (size_t c = 0; c < width; c++) { sum += weight_of(row, c, width); }
        for (size_t c = 0; c < C; c++) {
            row[c] = c < width ? (float)element_round(sizes->type, weight_of(row, c, width) / sum) : 0.0f;
        }
    }
}

static void compute(const struct op_call *call, int variant) {
    (void)variant;
    const float *dout = call_given(call, "dout"), *out = call_given(call, "out");
    double *dx = call_expected(call, "dx"), *condition = call_condition(call, "dx");
    size_t C = (size_t)call->sizes->C;
    for (size_t i = 0; i < (size_t)call->sizes->N * C; i += C) {
        softmax_backward_row(dout + i, out + i, (int)C, 1.0, dx + i, condition + i);
    }
}

const struct op_reference op_reference_softmax_backward = {.compute = compute, .complete = softmax_complete};
