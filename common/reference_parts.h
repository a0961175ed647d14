/* reference_parts.h — what the files of the reference share. Inside reference.c's work. */
#ifndef REFERENCE_PARTS_H
#define REFERENCE_PARTS_H

#include "reference.h"

/* One call of reference_compute(). */
struct reference_call {
    const struct op *op;
    const struct op_sizes *sizes;
    const int *rows; /* NULL: row n is row n */
    const float *const *tensor;
    double *const *expected;
    double *const *condition;
};

typedef void reference_part(const struct reference_call *call);

/* reference_softmax.c */
reference_part reference_softmax_forward, reference_softmax_backward;
reference_part reference_causal_forward, reference_causal_backward;
/* reference_layernorm.c; they serve several ops, whose tensors they find by name */
reference_part reference_layernorm_forward, reference_layernorm_backward;
/* reference_small.c */
reference_part reference_residual, reference_bias_add, reference_three_way_add;
reference_part reference_gelu_forward, reference_gelu_backward;
reference_part reference_row_sum, reference_row_sum_squares, reference_row_dot;

/* Roundings of a sum of so many terms, in any order: they add up like a random walk. */
double reference_growth(long terms);

/* Sets an element that has one right result. */
void reference_exact(double *expected, double *condition, size_t i, double value);

#endif
