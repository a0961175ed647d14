/* diagnose.h — from a failure to its likely cause: signatures of known mistakes.
 *
 * A signature looks at what all calls of an exercise have shown so far (struct evidence of check.h): which elements are
 * wrong, at which shapes and values, what the backend said; or it recomputes the op with one known mistake in it
 * (mistakes.c) and compares. The first signature of the table that matches wins, so the certain ones come first.
 *
 * Ids (each has one sentence and one hint level in the table of diagnose.c):
 *   from the backend, the launch or the process
 *     launch-error, launch-block-too-large, launch-zero-grid, crash, timeout,
 *     out-of-bounds, out-of-bounds-by-one, vector-tail-out-of-bounds, misaligned-vector, uninitialised-read,
 *     uninitialised-output-read, host-pointer, race, barrier-divergent, deadlock, absent-lane, stack-overflow,
 *     endless-loop, device-assert
 *   from where the wrong elements are
 *     output-untouched, output-partly-untouched, stats-not-written, columns-past-block, rows-past-grid,
 *     last-block-missing, only-row-0, only-lane-0, vector-tail, other-warps-lost, state-kept-between-calls,
 *     nan-in-other-rows, in-place-hazard, offset-hazard, shifted-by-one, transposed-index, scaled-by-constant,
 *     input-modified, not-repeatable, buffer-overrun, low-precision
 *   softmax_forward
 *     softmax-no-max, softmax-max-starts-at-zero, softmax-not-normalised, softmax-sum-not-reset, softmax-wrong-axis,
 *     softmax-whole-tensor, softmax-no-rescale, softmax-padding-counted, softmax-row-counted-twice,
 *     softmax-inf-minus-inf, softmax-all-masked-row, softmax-nan-hidden
 *   layernorm_forward
 *     layernorm-unbiased, layernorm-no-eps, layernorm-eps-outside, layernorm-one-pass, layernorm-rstd-is-variance,
 *     layernorm-rstd-is-deviation, layernorm-no-root, layernorm-stats-swapped, layernorm-affine-swapped,
 *     layernorm-affine-by-row, layernorm-no-weight, layernorm-no-bias, layernorm-no-affine, layernorm-mean-not-subtracted,
 *     layernorm-variance-not-centred, layernorm-sum-not-divided, layernorm-sum-not-reset, layernorm-padding-counted
 *   layernorm_backward
 *     backward-overwritten, backward-accumulated, backward-no-mean-terms, backward-one-mean-term, backward-no-weight,
 *     backward-no-rstd, backward-x-for-xhat, backward-gradients-swapped, backward-one-row
 *   residual_forward, bias_add, row_*
 *     residual-one-operand, residual-subtracted, bias-by-row, sum-not-squared, sum-not-weighted
 */
#ifndef DIAGNOSE_H
#define DIAGNOSE_H

#include "check.h"

struct signature {
    const char *id;
    const char *cause; /* one sentence: what the code probably does, and what it should do */
    int hint;          /* level of the hint to read */
    bool (*match)(const struct signature *signature, const struct evidence *evidence);
    int argument;      /* for families of signatures that share `match` */
};

/* The table, ended by one without id. */
extern const struct signature signatures[];

/* The first signature that matches, or NULL. */
const struct signature *diagnose(const struct evidence *evidence);

const struct signature *signature_find(const char *id);

#endif
