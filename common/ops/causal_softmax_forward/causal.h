/* causal.h — rows under a causal mask, right and with one mistake, for the two ops on (B, H, T, T). */
#ifndef OP_CAUSAL_H
#define OP_CAUSAL_H

#include "ops/reference.h"

/* The masked elements of row `row`, which is row n of this call: zeros, or what was there before the call. `out` is the
 * output's name. */
void causal_masked_part(const struct op_call *call, const char *out, size_t n, int row, int keys);

/* ---- mistakes of the mask and the scale, which both passes can have ---- */

enum causal_mistake {
    CAUSAL_STRICT = 1, /* j < i */
    CAUSAL_ONE_MORE,   /* j <= i + 1 */
    CAUSAL_NO_MASK,
    CAUSAL_NO_LENGTHS,
    CAUSAL_ROW_NOT_MODULO, /* the row of (B * H * T, T) for the row of its matrix */
    CAUSAL_TRANSPOSED,     /* j >= i */
    CAUSAL_NO_SCALE,
    CAUSAL_SCALE_TWICE,
    CAUSAL_SCALE_DIVIDED,
    CAUSAL_QUERIES_CUT,    /* rows from lengths[b] on are zeros */
    CAUSAL_OWN,            /* from here on each pass has its own */
    CAUSAL_PADDING = 32,   /* + log2 of the vector: zeros behind the keys in the last one count in the sum */
    CAUSAL_BY_VECTOR = 64, /* + log2 of the vector: a whole vector is masked or not */
};

/* One row, under a mask that may be wrong. */
struct causal_row {
    int variant, row, i, T; /* i: its place in its matrix */
    int length;             /* clamped */
    double scale;
    bool kept; /* what is above the diagonal is left alone */
};

struct causal_row causal_row_of(int variant, const struct op_sizes *sizes, const float *lengths, int n);

/* Does the sum count key j, by this mistake? */
bool causal_allows(const struct causal_row *row, int j);

/* What is written where the mask is: `value`, or what was there. */
void causal_write_masked(const struct causal_row *row, const float *before, int j, double value, double *out);

/* Recognised by which elements are wrong. */
extern const struct op_mistake causal_mistakes_shown[];

#endif
