/* reference.h — how an op is judged: its float64 reference, the tolerance, its invariants and its known mistakes. Each
 * op's folder defines op_reference_NAME. The grader and other programs that judge are linked with it; a learner's
 * process is not.
 *
 * For each output element the reference computes the value and a condition: the magnitude of the values that are
 * rounded in its computation, in units of one float32 rounding (2^-24). It grows with the magnitudes that cancel
 * (|mean| / deviation for LayerNorm, the largest |x| for softmax, the sum of |terms| for gradients) and with the square
 * root of the number of terms, because any order of summation in float32 is right. A condition of 0 means that the
 * result must be the exact value, rounded once. An infinite condition means that the contract does not define the
 * element.
 *
 * The conditions were chosen so that fused multiply-adds, __expf, rsqrtf and sequential sums pass, and so that rounding
 * the inputs or the sums to 16 bits or to TF32 does not.
 *
 * Results in 16-bit types are computed in float32 and rounded once, so nearly all of them are roundings of a value
 * within the float32 tolerance. Each must be within one unit in the last place of such a rounding, and the share of
 * those that are not such a rounding is bounded. This bound detects a second rounding (before gamma, of the statistics,
 * of partial sums).
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <math.h>

#include "evidence.h"

/* ---- one call in float64 ---- */

struct op_call {
    const struct op *op;
    const struct op_sizes *sizes;
    const int *rows;            /* NULL, or the row of the whole call that each row n is: rows[n] */
    const float *const *tensor; /* every tensor before the call, in the op's order */
    double *const *expected;    /* for every output: op_elements() values, owned by the caller */
    double *const *condition;   /* the same; NULL if only values are needed */
};

/* The tensor of that name: before the call, its expected values, its conditions. NULL: no such tensor. */
const float *call_given(const struct op_call *call, const char *name);
double *call_expected(const struct op_call *call, const char *name);
double *call_condition(const struct op_call *call, const char *name);

/* The scalar of that name, as the launcher gets it: rounded to float or int. The op must have it. */
double call_scalar(const struct op_call *call, const char *name);

/* Fills the outputs. `variant` is 0 for the reference, else one of the op's mistakes. */
typedef void op_compute(const struct op_call *call, int variant);

/* ---- mistakes ---- */

enum { OP_MAX_VARIANTS = 28, OP_MAX_MISTAKE_LISTS = 8 };

/* The order of diagnosis. Each stage comes before the general mistakes and facts named beside it (grader/mistakes.c), which
 * any op can have. The first match is the diagnosis. */
enum op_mistake_stage {
    MISTAKE_REPORTED = 1, /* a status or finding with a meaning of its own in this op: before the general reports */
    MISTAKE_COMPUTED,     /* the outputs agree with those that the mistake produces */
    MISTAKE_PLACED,       /* elements of one kind are wrong: before missing rows, columns and vectors */
    MISTAKE_SPECIAL,      /* rows of special values are wrong: before NaN, in-place and one-lane causes */
    MISTAKE_SUSPECTED,    /* before shifted results and tails */
    MISTAKE_VAGUE,        /* before lost precision */
    MISTAKE_STAGES
};

/* One known mistake, or one known fact. It is recognised by its results, or by a predicate over the recorded calls. A record
 * has a cause or a fact. A cause is named where the evidence excludes others: the outputs are those that the mistake computes,
 * or the backend reported it. A fact is what the predicate has verified, where several mistakes show the same. An entry without
 * either is a further form of the record with that id: its sentence, hint and kernel are those of the record. */
struct op_mistake {
    const char *id;
    const char *cause; /* one sentence: the mistake, and the correction */
    const char *fact;  /* one sentence: what is seen, and the place to check */
    bool of_calls;     /* the fact says which calls are wrong */
    int hint; /* the level of the hint to read: 1 the idea is missing, 2 the place, 3 the code is nearly right */
    const char *kernel;            /* a wrong kernel with this mistake: OP/NAME for the file NAME in OP/tests/wrong */
    op_compute *compute;           /* computes its results ... */
    int variant[OP_MAX_VARIANTS];  /* ... in these forms, ended by 0 */
    evidence_predicate *predicate; /* or NULL */
    int argument;                  /* of the predicate */
    enum op_mistake_stage stage;   /* of a predicate; 0: MISTAKE_SUSPECTED */
};

/* ---- one op ---- */

struct op_reference {
    op_compute *compute;
    /* Fills the `count` elements of input t, which are rounded afterwards; NULL: the op's description determines the values.
     * `tensor`: all of them; lengths are filled first. */
    void (*fill)(const struct op *op, const struct op_sizes *sizes, enum input_values values, float *const tensor[],
                 int t, uint64_t key, uint64_t count);
    /* Called after all inputs are filled: computes those that depend on others (statistics, a softmax). May be NULL. */
    void (*complete)(const struct op *op, const struct op_sizes *sizes, float *const tensor[]);
    /* An invariant that does not depend on the reference (rows sum to 1). If it is violated, `broken` describes how.
     * May be NULL. */
    bool (*invariant)(const struct op *op, const struct evidence_case *shown, struct failure *broken);
    /* Lists of mistakes, each ended by one without id, in the order of diagnosis. */
    const struct op_mistake *mistakes[OP_MAX_MISTAKE_LISTS];
};

const struct op_reference *reference_of(const struct op *op);

/* tensor[i]: the tensors before the call: inputs, accumulated values, and elements that the op does not write. */
void reference_compute(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                       double *const expected[], double *const condition[]);

/* The same for sizes->N rows of a larger call: row n of every tensor is row rows[n] of that call. A causal row's mask
 * depends on rows[n]. Sums over rows include these rows only. */
void reference_compute_rows(const struct op *op, const struct op_sizes *sizes, const int *rows,
                            const float *const tensor[], double *const expected[], double *const condition[]);

/* ---- helpers for references ---- */

/* The rounding error of a sum of so many terms, in any order: it grows like a random walk. The error of many similar terms that
 * are added one after the other drifts in one direction, at most by a quarter of a unit for each. */
static inline double reference_growth(long terms) {
    return fmax(4.0 + sqrt((double)terms), (double)terms / 64.0);
}

/* Sets an element whose result must be exact. */
void reference_exact(double *expected, double *condition, size_t i, double value);

/* Mean and 1 / sqrt(variance + eps) of one row, two passes. */
void reference_row_statistics(const float *x, int C, double eps, double *mean, double *rstd);

/* ---- the one comparison ---- */

/* The allowed |computed - expected| for a condition, before the result is rounded to its type. It allows results below
 * the smallest normal float to be flushed to zero. */
double reference_tolerance(double condition);

/* The allowed |got - expected|, which includes the rounding to a 16-bit type. */
double reference_allowance(enum op_type type, double expected, double condition);

/* NaN matches NaN, an infinity the same infinity, and a NaN never passes a tolerance. */
bool reference_accepts(enum op_type type, double expected, double condition, float got);

/* Is an accepted 16-bit result not the rounding of any value within the float32 tolerance? */
bool reference_misrounded(enum op_type type, double expected, double condition, float got);

/* The number of misrounded elements out of `count` that is accepted. */
long reference_misrounded_allowed(size_t count);

#endif
