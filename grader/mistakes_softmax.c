/* mistakes_softmax.c — softmax with one mistake. */
#include <float.h>
#include <math.h>

#include "mistakes.h"

enum { WARP = 32 };

static float row_maximum(const float *x, int C) {
    float maximum = -INFINITY;
    for (int c = 0; c < C; c++) { maximum = x[c] > maximum ? x[c] : maximum; }
    return maximum;
}

/* exp(x - shift) / sum of them, in float, so that it overflows and underflows as a kernel does. */
static void with_shift(const float *x, int C, float shift, double *out) {
    float sum = 0.0f;
    for (int c = 0; c < C; c++) { sum += expf(x[c] - shift); }
    for (int c = 0; c < C; c++) { out[c] = expf(x[c] - shift) / sum; }
}

/* Lanes take every `lanes`-th column, keep a running maximum, and forget to rescale the sum when it grows. */
static double unscaled_sum(const float *x, int C, int lanes) {
    double sum = 0.0;
    for (int lane = 0; lane < lanes && lane < C; lane++) {
        double maximum = -INFINITY;
        for (int c = lane; c < C; c += lanes) {
            if (x[c] > maximum) { maximum = x[c]; }
            if (isfinite(x[c])) { sum += exp(x[c] - maximum); }
        }
    }
    return sum;
}

/* Sum over the columns that one warp of a block of `block` threads takes. */
static double warp_sum(const float *x, int C, int block, int warp, double maximum) {
    double sum = 0.0;
    for (int c = 0; c < C; c++) {
        if (c % block / WARP == warp) { sum += exp(x[c] - maximum); }
    }
    return sum;
}

static void one_row(int variant, const float *x, int C, double *carried, double *out) {
    double maximum = row_maximum(x, C), sum = 0.0;
    for (int c = 0; c < C; c++) { sum += exp(x[c] - maximum); }
    if (variant == SOFTMAX_SUM_NOT_RESET) { sum = *carried += sum; }
    if (variant == SOFTMAX_NOT_NORMALISED) { sum = 1.0; }
    if (variant == SOFTMAX_PADDING_WARP) { sum += ((C + WARP - 1) / WARP * WARP - C) * exp(-maximum); }
    if (variant >= SOFTMAX_NO_RESCALE && variant < SOFTMAX_FIRST_WARP) {
        sum = unscaled_sum(x, C, 1 << (variant - SOFTMAX_NO_RESCALE));
    }
    for (int c = 0; c < C; c++) {
        if (variant >= SOFTMAX_OWN_WARP) {
            int block = 1 << (variant - SOFTMAX_OWN_WARP);
            sum = warp_sum(x, C, block, c % block / WARP, maximum);
        } else if (variant >= SOFTMAX_FIRST_WARP && c == 0) {
            sum = warp_sum(x, C, 1 << (variant - SOFTMAX_FIRST_WARP), 0, maximum);
        }
        out[c] = exp(x[c] - maximum) / sum;
    }
}

/* Along the rows n for each column c. */
static void wrong_axis(const struct op_sizes *sizes, const float *x, double *out) {
    size_t N = (size_t)sizes->N, C = (size_t)sizes->C;
    for (size_t c = 0; c < C; c++) {
        double maximum = -INFINITY, sum = 0.0;
        for (size_t n = 0; n < N; n++) { maximum = fmax(maximum, x[n * C + c]); }
        for (size_t n = 0; n < N; n++) { sum += exp(x[n * C + c] - maximum); }
        for (size_t n = 0; n < N; n++) { out[n * C + c] = exp(x[n * C + c] - maximum) / sum; }
    }
}

void mistake_softmax(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]) {
    const float *x = given[1];
    int C = sizes->C;
    double carried = 0.0;
    if (variant == SOFTMAX_WRONG_AXIS) {
        wrong_axis(sizes, x, out[0]);
        return;
    }
    if (variant == SOFTMAX_WHOLE_TENSOR) {
        one_row(-1, x, sizes->N * C, &carried, out[0]);
        return;
    }
    for (int n = 0; n < sizes->N; n++) {
        const float *row = x + (size_t)n * (size_t)C;
        double *out_row = out[0] + (size_t)n * (size_t)C;
        float maximum = row_maximum(row, C);
        switch (variant) {
            case SOFTMAX_NO_MAX: with_shift(row, C, 0.0f, out_row); break;
            case SOFTMAX_MAX_STARTS_AT_ZERO: with_shift(row, C, fmaxf(maximum, 0.0f), out_row); break;
            case SOFTMAX_MAX_STARTS_AT_FLT_MIN: with_shift(row, C, fmaxf(maximum, FLT_MIN), out_row); break;
            default: one_row(variant, row, C, &carried, out_row); break;
        }
    }
}
