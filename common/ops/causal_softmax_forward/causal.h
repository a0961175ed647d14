/* causal.h — rows under a causal mask, right and with one mistake, for the two ops on (B, H, T, T). */
#ifndef OP_CAUSAL_H
#define OP_CAUSAL_H

#include "ops/lanes.h"
#include "ops/reference.h"

/* Fills in the masked elements of row `row`, which is row n of this call: zeros, or their old values. `out` is the
 * output's name. */
void causal_masked_part(const struct op_call *call, const char *out, size_t n, int row, int keys);

/* ---- mistakes of the mask and the scale, in both passes ---- */

enum causal_mistake {
    CAUSAL_STRICT = 1, /* j < i */
    CAUSAL_ONE_MORE,   /* j <= i + 1 */
    CAUSAL_NO_MASK,
    CAUSAL_NO_LENGTHS,
    CAUSAL_ROW_NOT_MODULO, /* the row of (B * H * T, T) instead of the row of the matrix */
    CAUSAL_TRANSPOSED,     /* j >= i */
    CAUSAL_NO_SCALE,
    CAUSAL_SCALE_TWICE,
    CAUSAL_SCALE_DIVIDED,
    CAUSAL_QUERIES_CUT,    /* rows i >= lengths[b] are zeros */
    CAUSAL_OWN,            /* the first of each pass's own mistakes */
    CAUSAL_PADDING = 32,   /* + log2 of the vector: zeros after the keys in the last vector are in the sum */
    CAUSAL_BY_VECTOR = 64, /* + log2 of the vector: a whole vector is masked or not */
    CAUSAL_LANES = LANES,  /* + a mistake of a warp's reduction */
};

/* One row with a mask that may be wrong. */
struct causal_row {
    int variant, row, i, T; /* i: its index in its matrix */
    int length;             /* clamped */
    double scale;
    bool kept; /* elements above the diagonal are not written */
};

struct causal_row causal_row_of(int variant, const struct op_sizes *sizes, const float *lengths, int n);

/* Is key j in the sum, with this mistake? */
bool causal_allows(const struct causal_row *row, int j);

/* The value of a masked element after the call: `value`, or its old value. */
void causal_write_masked(const struct causal_row *row, const float *before, int j, double value, double *out);

/* Mistakes that are recognised by the elements that are wrong. */
extern const struct op_mistake causal_mistakes_shown[];

#endif
