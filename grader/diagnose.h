/* diagnose.h — from a failure to its likely cause: known mistakes.
 *
 * A mistake is recognised by what all calls of an exercise have shown so far (common/ops/evidence.h): a predicate over
 * them holds, or the outputs agree with the op recomputed with that mistake in it. An op's own mistakes are declared in
 * its folder; the general ones, which any op can have, in diagnose.c. The first that matches wins, so the certain ones
 * come first.
 */
#ifndef DIAGNOSE_H
#define DIAGNOSE_H

#include "check.h"
#include "common/ops/reference.h"

/* The first mistake that matches, or NULL. */
const struct op_mistake *diagnose(const struct evidence *evidence);

/* The first mistake of that id, or NULL. */
const struct op_mistake *diagnosis_find(const char *id);

/* Every known mistake, one after the other, starting with {0, 0}; NULL after the last. Ops that share a list repeat it. */
struct diagnosis_place {
    int list, entry;
};
const struct op_mistake *diagnosis_next(struct diagnosis_place *place);

#endif
