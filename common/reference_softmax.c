/* reference_softmax.c — softmax of rows and of causal matrices, forward and backward. */
#include <float.h>
#include <math.h>

#include "reference_parts.h"

/* C >= 1 values, each times scale. */
static void forward_row(const float *x, int C, double scale, double *out, double *condition) {
    double maximum = -INFINITY, largest = 0.0, sum = 0.0;
    bool undefined = false;
    for (int c = 0; c < C; c++) {
        double value = scale * x[c];
        if (isnan(value) || value == INFINITY) { undefined = true; }
        if (value > maximum) { maximum = value; }
        if (isfinite(value)) { largest = fmax(largest, fabs(value)); }
    }
    if (undefined || maximum == -INFINITY) {
        for (int c = 0; c < C; c++) { reference_exact(out, condition, (size_t)c, NAN); }
        return;
    }
    for (int c = 0; c < C; c++) { sum += exp(scale * x[c] - maximum); }
    for (int c = 0; c < C; c++) {
        double below = maximum - scale * x[c];
        out[c] = exp(-below) / sum;
        condition[c] = below == INFINITY ? 0.0 : out[c] * (reference_growth(C) + 2.0 * below + largest);
        if (below != INFINITY && condition[c] < DBL_MIN) { condition[c] = DBL_MIN; } /* underflow is not a mask */
    }
}

static void backward_row(const float *dout, const float *out, int C, double scale, double *dx, double *condition) {
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

void reference_softmax_forward(const struct reference_call *call) {
    size_t C = (size_t)call->sizes->C;
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        forward_row(call->tensor[1] + n * C, (int)C, 1.0, call->expected[0] + n * C, call->condition[0] + n * C);
    }
}

void reference_softmax_backward(const struct reference_call *call) {
    size_t C = (size_t)call->sizes->C;
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        backward_row(call->tensor[1] + n * C, call->tensor[2] + n * C, (int)C, 1.0, call->expected[0] + n * C,
                     call->condition[0] + n * C);
    }
}

/* ---- (B, H, T, T) ---- */

int reference_keys(const struct op_sizes *sizes, const float *lengths, int row) {
    int T = sizes->C, keys = row % T + 1;
    if (!sizes->lengths) { return keys; }
    float length = fminf(fmaxf(lengths[row / (sizes->H * T)], 0.0f), (float)T);
    return keys < (int)length ? keys : (int)length;
}

/* What is masked: zeros, or what was there before the call. */
static void masked_part(const struct reference_call *call, size_t n, int row, int keys) {
    size_t T = (size_t)call->sizes->C;
    for (size_t j = (size_t)keys; j < T; j++) {
        bool kept = call->sizes->upper && j > (size_t)row % T;
        reference_exact(call->expected[0], call->condition[0], n * T + j, kept ? call->tensor[0][n * T + j] : 0.0);
    }
}

void reference_causal_forward(const struct reference_call *call) {
    size_t T = (size_t)call->sizes->C;
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        int row = call->rows ? call->rows[n] : (int)n, keys = reference_keys(call->sizes, call->tensor[2], row);
        masked_part(call, n, row, keys);
        if (keys == 0) { continue; }
        forward_row(call->tensor[1] + n * T, keys, call->sizes->scale, call->expected[0] + n * T,
                    call->condition[0] + n * T);
    }
}

void reference_causal_backward(const struct reference_call *call) {
    size_t T = (size_t)call->sizes->C;
    for (size_t n = 0; n < (size_t)call->sizes->N; n++) {
        int row = call->rows ? call->rows[n] : (int)n, keys = reference_keys(call->sizes, call->tensor[3], row);
        masked_part(call, n, row, keys);
        backward_row(call->tensor[1] + n * T, call->tensor[2] + n * T, keys, call->sizes->scale,
                     call->expected[0] + n * T, call->condition[0] + n * T);
    }
}
