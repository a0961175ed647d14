/* reference_small.c — what works element by element, and sums of rows. */
#include <float.h>
#include <math.h>

#include "elements.h"
#include "reference_parts.h"

static size_t element_count(const struct reference_call *call) {
    return (size_t)call->sizes->N * (size_t)call->sizes->C;
}

void reference_residual(const struct reference_call *call) {
    for (size_t i = 0; i < element_count(call); i++) {
        /* the sum of two floats in double, rounded once more, is the float sum: 53 >= 2 * 24 + 2 */
        reference_exact(call->expected[0], call->condition[0], i, (double)call->tensor[1][i] + call->tensor[2][i]);
    }
}

void reference_bias_add(const struct reference_call *call) {
    size_t C = (size_t)call->sizes->C;
    for (size_t i = 0; i < element_count(call); i++) {
        reference_exact(call->expected[0], call->condition[0], i, (double)call->tensor[1][i] + call->tensor[2][i % C]);
    }
}

void reference_three_way_add(const struct reference_call *call) {
    for (size_t i = 0; i < element_count(call); i++) {
        double first = element_round(call->sizes->type, (double)call->tensor[1][i] + call->tensor[2][i]);
        reference_exact(call->expected[0], call->condition[0], i, first + call->tensor[3][i]);
    }
}

/* ---- GELU ---- */

static const double k = 0.79788456080286535588, cubic = 0.044715; /* k = sqrt(2 / pi) */

/* From tanh's argument 9.1 on float's tanh is 1, and then nothing cancels. */
static const double tanh_is_one = 9.5;

void reference_gelu_forward(const struct reference_call *call) {
    size_t C = (size_t)call->sizes->C;
    for (size_t i = 0; i < element_count(call); i++) {
        double x = call->tensor[1][i], bias = call->tensor[2][i % C], u = x + bias;
        double inner = k * (u + cubic * u * u * u), out = 0.5 * u * (1.0 + tanh(inner));
        call->expected[0][i] = out;
        /* 1 + tanh cancels for negative u: an absolute error there */
        double cancelled = fabs(inner) < tanh_is_one ? 2.0 * fabs(u) : 0.0;
        call->condition[0][i] = fabs(x) + fabs(bias) + 2.0 * fabs(out) + cancelled + DBL_MIN;
        if (isnan(out)) { reference_exact(call->expected[0], call->condition[0], i, NAN); }
    }
}

void reference_gelu_backward(const struct reference_call *call) {
    size_t C = (size_t)call->sizes->C;
    int N = call->sizes->N;
    for (size_t c = 0; c < C; c++) {
        call->expected[1][c] = call->tensor[1][c];
        call->condition[1][c] = reference_growth(N) * fabs((double)call->tensor[1][c]) + DBL_MIN;
    }
    for (size_t i = 0; i < element_count(call); i++) {
        double dout = call->tensor[2][i], x = call->tensor[3][i], bias = call->tensor[4][i % C], u = x + bias;
        double inner = k * (u + cubic * u * u * u), t = tanh(inner);
        double slope = 0.5 * u * k * (1.0 + 3.0 * cubic * u * u), gradient = 0.5 * (1.0 + t) + slope * (1.0 - t * t);
        double dx = dout * gradient;
        /* 1 - t^2 has an absolute error, which slope enlarges; u's own error counts by the second derivative, which
         * dies out like a bell */
        double cancelled = fabs(inner) < tanh_is_one ? 2.0 * fabs(slope) : 0.0;
        double size = 4.0 + cancelled + fabs(slope) * (1.0 - t * t) * (4.0 + 2.0 * fabs(inner)) +
                      1.2 * exp(-0.5 * fabs(u)) * (fabs(x) + fabs(bias));
        call->expected[0][i] = dx;
        call->condition[0][i] = fabs(dout) * size + DBL_MIN;
        if (isnan(dx)) { call->condition[0][i] = 0.0; }
        call->expected[1][i % C] += dx;
        call->condition[1][i % C] += reference_growth(N) * fabs(dx) + fabs(dout) * size;
    }
}

/* ---- the three row sums differ in their terms alone ---- */

static void sum_rows(const struct reference_call *call, const float *factor, bool squared) {
    const float *x = call->tensor[1];
    for (int n = 0; n < call->sizes->N; n++) {
        double sum = 0.0, size = 0.0;
        for (int c = 0; c < call->sizes->C; c++) {
            double value = x[(size_t)n * (size_t)call->sizes->C + (size_t)c];
            double term = squared ? value * value : value * (factor ? (double)factor[c] : 1.0);
            sum += term;
            size += fabs(term);
        }
        call->expected[0][n] = sum;
        call->condition[0][n] = isfinite(sum) ? reference_growth(call->sizes->C) * size + DBL_MIN : 0.0;
    }
}

void reference_row_sum(const struct reference_call *call) {
    sum_rows(call, NULL, false);
}

void reference_row_sum_squares(const struct reference_call *call) {
    sum_rows(call, NULL, true);
}

void reference_row_dot(const struct reference_call *call) {
    sum_rows(call, call->tensor[2], false);
}
