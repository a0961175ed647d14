/* reference.h — what an op gives: its float64 reference, how far a right kernel may be from it, what must hold besides, and
 * the mistakes that are known. Each op's folder defines op_reference_NAME. Only the grader and programs that judge are
 * linked with it; a learner's process is not.
 *
 * For each output element the reference gives the exact-enough value and a condition: the magnitude of the values that are
 * rounded in its computation, in units of one float32 rounding (2^-24). It grows with the magnitudes that cancel
 * (|mean| / deviation for LayerNorm, the largest |x| for softmax, the sum of |terms| for gradients) and with the square
 * root of the number of terms, because any order of summation in float32 is right. A condition of 0 means that the result
 * is exact, rounded once; an infinite one that the contract leaves the element open.
 *
 * The conditions were chosen so that fused multiply-adds, __expf, rsqrtf and sequential sums pass, and so that rounding
 * the inputs or the sums to 16 bits or to TF32 does not.
 *
 * Results in 16-bit types are computed in float32 and rounded once, so nearly all of them are the rounding of a value
 * within the float32 tolerance. Each must be within one unit in the last place of that, and the share of those that are no
 * such rounding is bounded. This bound detects a second rounding (before gamma, of the statistics, of partial sums).
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "evidence.h"

/* ---- one call in float64 ---- */

struct op_call {
    const struct op *op;
    const struct op_sizes *sizes;
    const int *rows;            /* NULL: row n is row n of the whole; else row rows[n] */
    const float *const *tensor; /* what every tensor held before the call, in the op's order */
    double *const *expected;    /* of every output: op_elements() values, which the caller owns */
    double *const *condition;   /* the same; NULL where only values are wanted */
};

/* The tensor of that name: what it held before the call; an output's values; its conditions. NULL: no such tensor. */
const float *call_given(const struct op_call *call, const char *name);
double *call_expected(const struct op_call *call, const char *name);
double *call_condition(const struct op_call *call, const char *name);

/* Fills the outputs. `variant` is 0 for the reference, else one of the op's mistakes. */
typedef void op_compute(const struct op_call *call, int variant);

/* ---- mistakes ---- */

enum { OP_MAX_VARIANTS = 12, OP_MAX_MISTAKE_LISTS = 6 };

/* When a mistake is looked for. Each stage comes before the general causes named beside it (grader/diagnose.c), which any
 * op can have; the first match is the diagnosis. */
enum op_mistake_stage {
    MISTAKE_REPORTED = 1, /* a status or finding that means more in this op: before the general reports */
    MISTAKE_PLACED,       /* elements of one kind are wrong: before rows, columns and vectors that are left out */
    MISTAKE_COMPUTED,     /* the outputs agree with the op with this mistake in it */
    MISTAKE_SPECIAL,      /* rows of special values are wrong: before NaN, in-place and one-lane causes */
    MISTAKE_SUSPECTED,    /* before shifted results and tails */
    MISTAKE_VAGUE,        /* before lost precision */
    MISTAKE_STAGES
};

/* One known mistake. It is recognised by what it computes, or by a predicate over the recorded calls. */
struct op_mistake {
    const char *id;
    const char *cause; /* one sentence: what the code does, and what it should do */
    int hint; /* the level of the hint to read: 1 the idea is missing, 2 the place, 3 the code is nearly right */
    const char *kernel;            /* a wrong kernel that makes it: tests/wrong/KERNEL of some op's folder */
    op_compute *compute;           /* what it yields ... */
    int variant[OP_MAX_VARIANTS];  /* ... in one of these forms, ended by 0 */
    evidence_predicate *predicate; /* or whether the evidence shows it */
    int argument;                  /* of the predicate */
    enum op_mistake_stage stage;   /* 0: MISTAKE_COMPUTED of what computes, else MISTAKE_SUSPECTED */
};

/* ---- everything that judges one op ---- */

struct op_reference {
    op_compute *compute;
    /* Element i of input t, before it is rounded; NULL: the op's description says what it holds. `tensor`: those filled so
     * far, lengths first. */
    float (*fill)(const struct op *op, const struct op_sizes *sizes, enum input_values values, float *const tensor[],
                  int t, uint64_t key, uint64_t i);
    /* After all inputs are filled: those that follow from others (statistics, a softmax). NULL: there are none. */
    void (*complete)(const struct op *op, const struct op_sizes *sizes, float *const tensor[]);
    /* What must hold whatever the reference says (rows sum to 1): a second, independent look. False: `broken` says what
     * does not. NULL: nothing. */
    bool (*invariant)(const struct op *op, const struct evidence_case *shown, struct failure *broken);
    /* Lists of mistakes, each ended by one without id, in the order in which they are tried. */
    const struct op_mistake *mistakes[OP_MAX_MISTAKE_LISTS];
};

const struct op_reference *reference_of(const struct op *op);

/* tensor[i]: inputs, and what outputs held before the call (accumulated values, elements that the op leaves alone). */
void reference_compute(const struct op *op, const struct op_sizes *sizes, const float *const tensor[],
                       double *const expected[], double *const condition[]);

/* The same for some rows of a larger call alone: sizes->N of them, and row n of every tensor is row rows[n] of the
 * whole. (A causal row's mask depends on which row it is. Sums over rows are over these.) */
void reference_compute_rows(const struct op *op, const struct op_sizes *sizes, const int *rows,
                            const float *const tensor[], double *const expected[], double *const condition[]);

/* ---- for those who write a reference ---- */

/* Roundings of a sum of so many terms, in any order: they add up like a random walk. */
double reference_growth(long terms);

/* Sets an element that has one right result. */
void reference_exact(double *expected, double *condition, size_t i, double value);

/* Mean and 1 / sqrt(variance + eps) of one row, two passes. */
void reference_row_statistics(const float *x, int C, double eps, double *mean, double *rstd);

/* ---- the one comparison ---- */

/* |computed - expected| allowed for a condition before the result is rounded to its type. Covers results that are flushed
 * to zero below the smallest normal float. */
double reference_tolerance(double condition);

/* |got - expected| allowed, with the rounding to a 16-bit type. */
double reference_allowance(enum op_type type, double expected, double condition);

/* NaN matches NaN, an infinity the same infinity, and a NaN never passes a tolerance. */
bool reference_accepts(enum op_type type, double expected, double condition, float got);

/* A 16-bit result that is accepted, and yet is the rounding of no value within the float32 tolerance. */
bool reference_misrounded(enum op_type type, double expected, double condition, float got);

/* So many misrounded elements out of `count` are accepted. */
long reference_misrounded_allowed(size_t count);

#endif
