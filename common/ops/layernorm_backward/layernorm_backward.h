/* layernorm_backward.h — LayerNorm's gradients in float64, right and with one mistake, for the ops that contain it.
 * Tensors are found by name: the normalised row is sum if the op has it, else x; dsum is added if the op has it.
 */
#ifndef OP_LAYERNORM_BACKWARD_H
#define OP_LAYERNORM_BACKWARD_H

#include "ops/reference.h"

op_compute layernorm_backward_compute;

/* An op_reference's `complete`: computes mean and rstd as the forward pass does. */
void layernorm_backward_complete(const struct op *op, const struct op_sizes *sizes, float *const tensor[]);

/* `variant` is one of layernorm_backward_mistakes', or -1: none. */
op_compute layernorm_backward_mistaken;

extern const struct op_mistake layernorm_backward_mistakes[], layernorm_backward_mistakes_shown[];

#endif
