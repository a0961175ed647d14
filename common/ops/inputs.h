/* inputs.h — the inputs of correctness calls: seeded and counter-based (runner/generate.h), so that any element can be
 * generated alone, also on a device; and the hard values, which detect kernels that are right by chance.
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
    VALUES_CONSTANT_ROWS, /* all elements of a row are equal */
    VALUES_EQUAL,         /* every element 1 */
    VALUES_MINUS_INF,     /* a third of the entries -inf, as after a mask, and the first three quarters of odd rows */
    VALUES_ROW_MINUS_INF, /* one row all -inf */
    VALUES_PLUS_INF,      /* one +inf in one row */
    VALUES_NAN,           /* one NaN in one row */
    VALUES_DENORMAL,      /* below the smallest normal number of the type */
    VALUES_MASKED_NAN,    /* causal: NaN in every masked element, lengths given */
    VALUES_LENGTHS,       /* causal: lengths outside 0..T, which must be clamped */
    VALUES_SHARP,         /* attention: large queries and keys, so that each query attends to a few keys */
    VALUES_PEAK,          /* in each row one element is 300 above the others: the last, any or the first one */
    VALUES_LOW,           /* finite masks: a third of the entries, -1e4, -1e9 or -1e30 by row; each fifth row whole */
    VALUES_MIXED,         /* each row of another kind of the op's hard values */
    VALUES_KINDS
};

/* Sets of kinds, for a description's .hard. */
#define HARD(values) (1u << (values))
#define HARD_FINITE                                                                                         \
    (HARD(VALUES_LARGE) | HARD(VALUES_SMALL) | HARD(VALUES_NEGATIVE) | HARD(VALUES_SHIFTED) |               \
     HARD(VALUES_TINY_VARIANCE) | HARD(VALUES_CONSTANT_ROWS) | HARD(VALUES_EQUAL) | HARD(VALUES_DENORMAL) | \
     HARD(VALUES_PEAK))
#define HARD_NAN     HARD(VALUES_NAN)
#define HARD_SPOILED (HARD(VALUES_PLUS_INF) | HARD_NAN)
#define HARD_MASKED  (HARD(VALUES_MINUS_INF) | HARD(VALUES_ROW_MINUS_INF))
#define HARD_LOW     HARD(VALUES_LOW)
#define HARD_CAUSAL  (HARD(VALUES_MASKED_NAN) | HARD(VALUES_LENGTHS))
#define HARD_MODEL   (HARD(VALUES_SMALL) | HARD(VALUES_EQUAL) | HARD(VALUES_SHARP))

/* The name in a report: "large (up to 1e4)". */
const char *inputs_name(enum input_values values);

/* The kind as one word: "large", "one-nan". */
const char *inputs_word(enum input_values values);

/* Can rows of different kinds be in one call? Only where no row affects the result of another one. */
bool inputs_can_mix(const struct op *op);

/* Does a case of that kind need lengths? */
bool inputs_need_lengths(enum input_values values);

/* The row to which VALUES_ROW_MINUS_INF, VALUES_PLUS_INF and VALUES_NAN apply. */
int inputs_special_row(const struct op_sizes *sizes);

/* Fills every tensor: inputs and accumulated outputs with values, other outputs and scratch with poison. Inputs that
 * depend on others are consistent with them (mean and rstd are those of x, an input `out` is a softmax). tensor[i]
 * holds op_elements() floats. */
void inputs_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values, uint64_t seed,
                 float *const tensor[]);

/* The values of outputs before a call: random, finite, of magnitude 16384 to 32768, and distinguished from results by
 * their bits. They are rounded to 16-bit types. */
float inputs_poison(uint64_t seed, int tensor, uint64_t element);

/* Bell-shaped on (-2.5, 2.5), deviation 1, with a full mantissa. */
float inputs_bell(uint64_t key, uint64_t i);

/* Number of keys that row `row` of a causal op attends to: up to the diagonal, and below its length. `lengths` is NULL
 * or (B). */
int inputs_keys(const struct op_sizes *sizes, const float *lengths, int row);

#endif
