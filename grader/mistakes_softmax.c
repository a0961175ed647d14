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

/* Lanes take every `lanes`-th column, keep a running maximum, and forget to rescale the sum when it grows; the lanes' sums
 * are put together as they are, or rescaled to the row's maximum. */
static double unscaled_sum(const float *x, int C, int lanes, bool merged, double row_maximum) {
    double sum = 0.0;
    for (int lane = 0; lane < lanes && lane < C; lane++) {
        double maximum = -INFINITY, own = 0.0;
        for (int c = lane; c < C; c += lanes) {
            if (x[c] > maximum) { maximum = x[c]; }
            if (isfinite(x[c])) { own += exp(x[c] - maximum); }
        }
        if (own > 0.0) { sum += merged ? own * exp(maximum - row_maximum) : own; }
    }
    return sum;
}

/* Sums over the columns that each warp of a block of `block` threads takes. */
static void warp_sums(const float *x, int C, int block, double maximum, double sums[WARP]) {
    for (int warp = 0; warp < WARP; warp++) { sums[warp] = 0.0; }
    for (int c = 0; c < C; c++) { sums[c % block / WARP] += exp(x[c] - maximum); }
}

static void one_row(int variant, const float *x, int C, double *carried, double *out) {
    double maximum = row_maximum(x, C), sum = 0.0, scale = variant == SOFTMAX_BASE_2 ? log(2.0) : 1.0;
    if (variant == SOFTMAX_SIGN) { scale = -1.0; }
    for (int c = 0; c < C; c++) { sum += exp(scale * (x[c] - maximum)); }
    if (variant == SOFTMAX_SUM_NOT_RESET) { sum = *carried += sum; }
    if (variant == SOFTMAX_NOT_NORMALISED) { sum = 1.0; }
    if (variant == SOFTMAX_DIVIDED_BY_C) { sum = C; }
    if (variant == SOFTMAX_PADDING_WARP) { sum += ((C + WARP - 1) / WARP * WARP - C) * exp(-maximum); }
    bool merged = variant >= SOFTMAX_NO_RESCALE_IN_LANE;
    if (variant >= SOFTMAX_NO_RESCALE && variant < SOFTMAX_FIRST_WARP) {
        int lanes = 1 << (variant - (merged ? SOFTMAX_NO_RESCALE_IN_LANE : SOFTMAX_NO_RESCALE));
        sum = unscaled_sum(x, C, lanes, merged, maximum);
    }
    double sums[WARP];
    bool own = variant >= SOFTMAX_OWN_WARP, first = !own && variant >= SOFTMAX_FIRST_WARP;
    int block = own ? 1 << (variant - SOFTMAX_OWN_WARP) : first ? 1 << (variant - SOFTMAX_FIRST_WARP) : WARP;
    if (own || first) { warp_sums(x, C, block, maximum, sums); }
    for (int c = 0; c < C; c++) {
        double divisor = own ? sums[c % block / WARP] : first ? sums[0] : sum;
        out[c] = exp(scale * (x[c] - maximum)) / divisor;
    }
}

/* Element (n, c) is taken to be at c * N + n. */
static void transposed(const struct op_sizes *sizes, const float *x, double *out) {
    size_t N = (size_t)sizes->N, C = (size_t)sizes->C;
    for (size_t n = 0; n < N; n++) {
        double maximum = -INFINITY, sum = 0.0;
        for (size_t c = 0; c < C; c++) { maximum = fmax(maximum, x[c * N + n]); }
        for (size_t c = 0; c < C; c++) { sum += exp(x[c * N + n] - maximum); }
        for (size_t c = 0; c < C; c++) { out[c * N + n] = exp(x[c * N + n] - maximum) / sum; }
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
    if (variant == SOFTMAX_TRANSPOSED) {
        transposed(sizes, x, out[0]);
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
