/* mistakes_fused.c — residual add and LayerNorm in one with one mistake, forward and backward. What goes wrong in the
 * LayerNorm alone is mistakes_layernorm.c's, on the sum.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/elements.h"
#include "mistakes.h"

enum { OUT, SUM, MEAN, RSTD, X, RESIDUAL, WEIGHT, BIAS };

static float *allocate(size_t count) {
    float *values = calloc(count + 1, sizeof *values);
    if (!values) { abort(); }
    return values;
}

/* The residual's part of a sum: by some mistakes there is none, or it is subtracted. */
static double added(int variant, float residual) {
    switch (variant) {
        case FUSED_NO_RESIDUAL: return 0.0;
        case FUSED_SUBTRACTED: return -(double)residual;
        default: return residual;
    }
}

/* Everything after the statistics once more, with roundings to T in between. */
static void again(int variant, const struct op_sizes *sizes, const float *const given[], const float *sum,
                  double *const out[]) {
    size_t C = (size_t)sizes->C;
    for (size_t i = 0; i < (size_t)sizes->N * C; i++) {
        float weight = given[WEIGHT][i % C], bias = given[BIAS][i % C];
        double normal = (sum[i] - out[MEAN][i / C]) * out[RSTD][i / C];
        if (variant == FUSED_ROUNDED_BEFORE_GAMMA) { normal = element_round(sizes->type, normal); }
        double scaled = normal * weight;
        if (variant == FUSED_ROUNDED_BEFORE_BETA) { scaled = element_round(sizes->type, scaled); }
        out[OUT][i] = scaled + bias;
    }
}

/* By some mistakes what is normalised is not the rounded sum. */
static void normalised_values(int variant, const struct op_sizes *sizes, const float *const given[], float *values) {
    for (size_t i = 0; i < (size_t)sizes->N * (size_t)sizes->C; i++) {
        double sum = given[X][i] + added(variant, given[RESIDUAL][i]);
        bool wide = variant == FUSED_UNROUNDED || variant == FUSED_UNROUNDED_STATISTICS;
        values[i] = wide ? (float)sum : (float)element_round(sizes->type, sum);
        if (variant == FUSED_OF_X || variant == FUSED_OTHER_ORDER) { values[i] = given[X][i]; }
    }
}

static void round_statistics(const struct op_sizes *sizes, double *const out[], enum op_type type) {
    for (int n = 0; n < sizes->N; n++) {
        out[MEAN][n] = element_round(type, out[MEAN][n]);
        out[RSTD][n] = element_round(type, out[RSTD][n]);
    }
}

void mistake_fused(int variant, const struct op_sizes *sizes, const float *const given[], double *const out[]) {
    size_t count = (size_t)sizes->N * (size_t)sizes->C;
    float *sum = allocate(count);
    bool own = variant >= FUSED_NO_RESIDUAL; /* else it is LayerNorm's */
    normalised_values(own ? variant : -1, sizes, given, sum);
    const float *const plain[] = {NULL, NULL, NULL, sum, given[WEIGHT], given[BIAS]};
    double *const outputs[] = {out[OUT], out[MEAN], out[RSTD]};
    mistake_layernorm(own ? -1 : variant, sizes, plain, outputs);
    for (size_t i = 0; i < count; i++) {
        double rounded = element_round(sizes->type, given[X][i] + added(variant, given[RESIDUAL][i]));
        out[SUM][i] = variant == FUSED_SUM_IS_OUT ? out[OUT][i] : rounded;
        if (variant == FUSED_SUM_IS_X) { out[SUM][i] = given[X][i]; }
        if (variant == FUSED_OTHER_ORDER) { out[OUT][i] += given[RESIDUAL][i]; }
        sum[i] = (float)rounded;
    }
    if (variant == FUSED_STATISTICS_IN_T || variant == FUSED_STATISTICS_IN_T_USED) {
        round_statistics(sizes, out, sizes->type);
    }
    bool rounds = variant == FUSED_ROUNDED_BEFORE_GAMMA || variant == FUSED_ROUNDED_BEFORE_BETA;
    if (rounds || variant == FUSED_UNROUNDED_STATISTICS || variant == FUSED_STATISTICS_IN_T_USED) {
        again(variant, sizes, given, sum, out);
    }
    if (variant == FUSED_SWAPPED) {
        for (size_t i = 0; i < count; i++) {
            double swapped = out[OUT][i];
            out[OUT][i] = out[SUM][i];
            out[SUM][i] = swapped;
        }
    }
    free(sum);
}

enum { DINP, DWEIGHT, DBIAS, DOUT, DSUM, B_SUM, B_WEIGHT, B_MEAN, B_RSTD };

void mistake_fused_backward(int variant, const struct op_sizes *sizes, const float *const given[],
                            double *const out[]) {
    size_t count = (size_t)sizes->N * (size_t)sizes->C;
    bool own = variant >= FUSED_BACKWARD_NO_DSUM;
    const float *const plain[] = {given[DINP],  given[DWEIGHT],  given[DBIAS],  given[DOUT],
                                  given[B_SUM], given[B_WEIGHT], given[B_MEAN], given[B_RSTD]};
    mistake_backward(own ? -1 : variant, sizes, plain, out);
    for (size_t i = 0; i < count; i++) {
        if (variant == FUSED_BACKWARD_NO_DSUM) { continue; }
        if (variant == FUSED_BACKWARD_ROUNDED_FIRST) { out[DINP][i] = element_round(sizes->type, out[DINP][i]); }
        out[DINP][i] = variant == FUSED_BACKWARD_DSUM_ALONE ? given[DSUM][i] : out[DINP][i] + given[DSUM][i];
        if (variant == FUSED_BACKWARD_DSUM_SCALED) {
            out[DINP][i] += (given[B_RSTD][i / (size_t)sizes->C] - 1.0) * given[DSUM][i];
        }
        if (variant == FUSED_BACKWARD_DOUT_ADDED) { out[DINP][i] += (double)given[DOUT][i] - given[DSUM][i]; }
    }
}
