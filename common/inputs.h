/* inputs.h — the inputs of correctness calls: seeded, made by a counter (runner/generate.h), so that any element can be
 * made alone and a device could make the same; and the hard rows that separate right kernels from lucky ones.
 *
 * Values are floats, rounded to the tensor's type.
 */
#ifndef INPUTS_H
#define INPUTS_H

#include "ops.h"

enum input_values {
    VALUES_NORMAL,        /* bell-shaped around 0, deviation 1 */
    VALUES_LARGE,         /* up to ±1e4: exp overflows, squares are large */
    VALUES_SMALL,         /* about 1e-3: LayerNorm's eps is larger than the variance */
    VALUES_NEGATIVE,      /* around -5000: a maximum that starts at 0 is wrong */
    VALUES_SHIFTED,       /* deviation 1 on a mean of 1000 */
    VALUES_TINY_VARIANCE, /* deviation 0.1 on a mean of 1000: E[x^2] - E[x]^2 cancels */
    VALUES_CONSTANT_ROWS, /* every row one value of its own */
    VALUES_EQUAL,         /* every element 1 */
    VALUES_MINUS_INF,     /* a third of the entries -inf, as masks leave them, and whole beginnings of rows */
    VALUES_ROW_MINUS_INF, /* one row all -inf */
    VALUES_PLUS_INF,      /* one +inf in one row */
    VALUES_NAN,           /* one NaN in one row */
    VALUES_DENORMAL,      /* below the smallest normal number of the type */
    VALUES_MASKED_NAN,    /* causal: NaN wherever the mask is, lengths given */
    VALUES_LENGTHS,       /* causal: lengths outside 0..T, which are to be clamped */
    VALUES_SHARP,         /* wiring: queries and keys so large that attention looks at a few keys */
    VALUES_KINDS
};

/* "large (up to 1e4)": as it reads in a report. */
const char *inputs_name(enum input_values values);

/* The hard kinds that an op's contract covers, as bits 1 << kind. */
unsigned inputs_kinds(const struct op *op);

/* Whether a case of that kind needs lengths to be given. */
bool inputs_need_lengths(enum input_values values);

/* The one row that VALUES_ROW_MINUS_INF, VALUES_PLUS_INF and VALUES_NAN spoil. */
int inputs_special_row(const struct op_sizes *sizes);

/* Fills every tensor: inputs and the start of accumulated outputs with values, outputs with poison. Inputs called mean
 * and rstd are the statistics of x (or of sum), an input called out is a softmax, what a block kept is a forward pass's, lengths are of every kind: T, 0, 1, and
 * between (of a wiring 1 to T; positions 0 to S - 1). tensor[i] holds op_elements() floats. */
void inputs_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values, uint64_t seed,
                 float *const tensor[]);

/* What outputs hold before a call: random, finite, of magnitude 16384 to 32768, and told apart from results bit by bit.
 * In the 16-bit types it is rounded. */
float inputs_poison(uint64_t seed, int tensor, uint64_t element);

#endif
