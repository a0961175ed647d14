/* mistakes_layernorm.c — LayerNorm with one mistake, forward and backward. */
#include <math.h>
#include <string.h>

#include "mistakes.h"

enum { WARP = 32 };

struct row {
    double mean, variance, rstd;     /* used for out */
    double stored_mean, stored_rstd; /* written to mean and rstd */
};

/* The columns whose terms reach the sum: all, or those of one warp of the block. */
static bool counted(int variant, int c, int warp) {
    if (variant < LAYERNORM_FIRST_WARP) { return true; }
    int log2_block = variant >= LAYERNORM_OWN_WARP ? variant - LAYERNORM_OWN_WARP : variant - LAYERNORM_FIRST_WARP;
    return c % (1 << log2_block) / WARP == warp;
}

static struct row statistics(int variant, const struct op_sizes *sizes, const float *x, double *carried, int warp) {
    int C = sizes->C;
    double eps = sizes->eps;
    double sum = 0.0, squares = 0.0;
    for (int c = 0; c < C; c++) {
        if (counted(variant, c, warp)) { sum += x[c]; }
    }
    if (variant == LAYERNORM_SUM_NOT_RESET) { sum = carried[0] += sum; }
    struct row row = {.mean = variant == LAYERNORM_SUM_NOT_DIVIDED ? sum
                              : variant == LAYERNORM_MEAN_BY_ROWS  ? sum / sizes->N
                              : variant == LAYERNORM_MEAN_IS_0     ? sum * (1 / C)
                                                                   : sum / C};
    double centre = variant == LAYERNORM_NOT_CENTRED ? 0.0 : row.mean;
    for (int c = 0; c < C; c++) {
        if (counted(variant, c, warp)) { squares += (x[c] - centre) * (x[c] - centre); }
    }
    if (variant == LAYERNORM_SQUARES_NOT_RESET) { squares = carried[1] += squares; }
    if (variant == LAYERNORM_PADDING) { squares += ((C + WARP - 1) / WARP * WARP - C) * row.mean * row.mean; }
    double divisor = variant == LAYERNORM_UNBIASED ? C - 1 : variant == LAYERNORM_SQUARES_NOT_DIVIDED ? 1 : C;
    if (variant == LAYERNORM_VARIANCE_BY_ROWS) { divisor = sizes->N; }
    row.variance = variant == LAYERNORM_VARIANCE_IS_0 ? squares * (1 / C) : squares / divisor;
    double deviation = sqrt(row.variance + eps);
    row.rstd = 1.0 / deviation;
    switch (variant) {
        case LAYERNORM_NO_EPS: row.rstd = 1.0 / sqrt(row.variance); break;
        case LAYERNORM_EPS_AFTER_ROOT: row.rstd = 1.0 / (sqrt(row.variance) + eps); break;
        case LAYERNORM_EPS_AFTER_INVERSE: row.rstd = 1.0 / sqrt(row.variance) + eps; break;
        case LAYERNORM_EPS_IGNORED: row.rstd = 1.0 / sqrt(row.variance + 1e-5); break;
        case LAYERNORM_EPS_1E_6: row.rstd = 1.0 / sqrt(row.variance + 1e-6); break;
        case LAYERNORM_NO_ROOT: row.rstd = 1.0 / (row.variance + eps); break;
        case LAYERNORM_TIMES_DEVIATION: row.rstd = deviation; break;
        default: break;
    }
    row.stored_mean = row.mean;
    row.stored_rstd = row.rstd;
    if (variant == LAYERNORM_RSTD_IS_VARIANCE) { row.stored_rstd = row.variance; }
    if (variant == LAYERNORM_RSTD_IS_DEVIATION) { row.stored_rstd = deviation; }
    if (variant == LAYERNORM_STATS_SWAPPED) {
        row.stored_mean = row.rstd;
        row.stored_rstd = row.mean;
    }
    return row;
}

void mistake_layernorm(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]) {
    int C = sizes->C;
    const float *x = given[3], *weight = given[4], *bias = given[5];
    double carried[2] = {0.0, 0.0};
    for (int n = 0; n < sizes->N; n++, x += C) {
        struct row row = statistics(variant, sizes, x, carried, 0);
        out[1][n] = row.stored_mean;
        out[2][n] = row.stored_rstd;
        int block = variant >= LAYERNORM_OWN_WARP ? 1 << (variant - LAYERNORM_OWN_WARP) : 0;
        for (int c = 0; c < C; c++) {
            if (block && c % WARP == 0) { row = statistics(variant, sizes, x, carried, c % block / WARP); }
            double w = weight[c], b = bias[c];
            if (variant == LAYERNORM_AFFINE_SWAPPED) { w = bias[c], b = weight[c]; }
            if (variant == LAYERNORM_AFFINE_BY_ROW) { w = weight[n % C], b = bias[n % C]; }
            if (variant == LAYERNORM_NO_WEIGHT || variant == LAYERNORM_NO_AFFINE) { w = 1.0; }
            if (variant == LAYERNORM_NO_BIAS || variant == LAYERNORM_NO_AFFINE) { b = 0.0; }
            if (variant == LAYERNORM_BIAS_SCALED) { b *= w; }
            double centre = variant == LAYERNORM_MEAN_NOT_SUBTRACTED ? 0.0 : row.mean;
            out[0][(size_t)n * (size_t)C + (size_t)c] = (x[c] - centre) * row.rstd * w + b;
        }
    }
}

void mistake_backward(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]) {
    int N = sizes->N, C = sizes->C;
    const float *weight = given[5];
    for (int c = 0; c < C; c++) {
        out[1][c] = variant == BACKWARD_OVERWRITTEN ? 0.0 : given[1][c];
        out[2][c] = variant == BACKWARD_OVERWRITTEN ? 0.0 : given[2][c];
    }
    for (int n = 0; n < N; n++) {
        const float *dout = given[3] + (size_t)n * (size_t)C, *x = given[4] + (size_t)n * (size_t)C;
        double mean = given[6][n], rstd = given[7][n], first = 0.0, second = 0.0;
        double divisor = variant == BACKWARD_SUMS_FOR_MEANS ? 1 : C;
        bool row_counts = variant == BACKWARD_FIRST_ROW ? n == 0 : variant != BACKWARD_LAST_ROW || n == N - 1;
        for (int c = 0; c < C; c++) {
            double g = dout[c] * (variant == BACKWARD_NO_WEIGHT ? 1.0 : weight[c]);
            double normal = variant == BACKWARD_X_FOR_XHAT ? x[c] : (x[c] - mean) * rstd;
            first += g / divisor;
            second += g * normal / divisor;
        }
        if (variant == BACKWARD_NO_MEAN_TERMS || variant == BACKWARD_NO_FIRST_TERM) { first = 0.0; }
        if (variant == BACKWARD_NO_MEAN_TERMS || variant == BACKWARD_NO_SECOND_TERM) { second = 0.0; }
        for (int c = 0; c < C; c++) {
            double g = dout[c] * (variant == BACKWARD_NO_WEIGHT ? 1.0 : weight[c]);
            double normal = variant == BACKWARD_X_FOR_XHAT ? x[c] : (x[c] - mean) * rstd;
            double factor = variant == BACKWARD_NO_RSTD ? 1.0 : rstd;
            out[0][(size_t)n * (size_t)C + (size_t)c] = factor * (g - first - normal * second);
            if (!row_counts) { continue; }
            double weighted = variant == BACKWARD_WEIGHTED_DWEIGHT ? g : dout[c];
            out[variant == BACKWARD_SWAPPED ? 2 : 1][c] += weighted * normal;
            out[variant == BACKWARD_SWAPPED ? 1 : 2][c] += dout[c];
        }
    }
}

void mistake_small(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]) {
    size_t N = (size_t)sizes->N, C = (size_t)sizes->C;
    bool is_sum = variant == SUM_NOT_SQUARED || variant == SUM_NOT_WEIGHTED;
    for (size_t n = 0; n < N && is_sum; n++) { out[0][n] = 0.0; }
    for (size_t i = 0; i < N * C; i++) {
        double x = given[1][i];
        switch (variant) {
            case RESIDUAL_FIRST_ONLY: out[0][i] = x; break;
            case RESIDUAL_SECOND_ONLY: out[0][i] = given[2][i]; break;
            case RESIDUAL_SUBTRACTED: out[0][i] = (float)(x - given[2][i]); break;
            case RESIDUAL_MULTIPLIED: out[0][i] = (float)(x * given[2][i]); break;
            case RESIDUAL_TWICE: out[0][i] = (float)(x + x); break;
            case BIAS_BY_ROW: out[0][i] = (float)(x + given[2][i / C % C]); break;
            case BIAS_MISSING: out[0][i] = x; break;
            default: out[0][i / C] += x; break;
        }
    }
}
