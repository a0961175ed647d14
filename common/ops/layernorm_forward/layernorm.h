/* layernorm.h — LayerNorm's rows in float64, right and with one mistake, for the ops that contain it: with a residual
 * added before or after, or without. Tensors are found by name.
 */
#ifndef OP_LAYERNORM_H
#define OP_LAYERNORM_H

#include "ops/reference.h"

/* The reference of layernorm_forward, and of the ops that also have residual, or residual and sum. */
op_compute layernorm_compute;

bool layernorm_rows_are_normal(const struct op *op, const struct evidence_case *shown, struct failure *broken);

/* (N, C) values to normalise, and the outputs. */
struct layernorm_rows {
    const struct op_sizes *sizes;
    const float *x, *weight, *bias;
    double *out, *mean, *rstd;
};

/* `variant` is one of layernorm_mistakes', or -1: none. */
void layernorm_mistaken_rows(int variant, const struct layernorm_rows *rows);

/* Mistakes of any LayerNorm: computed ones, and those recognised by the rows that are wrong. */
extern const struct op_mistake layernorm_mistakes[], layernorm_mistakes_shown[];

#endif
