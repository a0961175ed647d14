/* inputs_parts.h — what the files of the inputs share. Inside inputs.c's work. */
#ifndef INPUTS_PARTS_H
#define INPUTS_PARTS_H

#include "inputs.h"

/* Bell-shaped on (-2.5, 2.5), deviation 1, with a full mantissa. */
float inputs_bell(uint64_t key, uint64_t i);

/* Element i of tensor t of an op that wires a model; lengths (B): what the tensor of that shape holds. */
float inputs_wiring(const struct op *op, const struct op_sizes *sizes, enum input_values values, const float *lengths,
                    int t, uint64_t key, uint64_t i);

/* What a block's forward pass kept, from its input and the parameters: nothing for other ops. */
void inputs_kept(const struct op *op, const struct op_sizes *sizes, float *const tensor[]);

/* All of a model's weights, one after the other. */
void inputs_model(const struct op_sizes *sizes, uint64_t key, float *weights);

#endif
