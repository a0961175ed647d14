/* diagnose.h — finds a failure's likely cause among the known mistakes.
 *
 * A mistake is recognised by the recorded calls of an exercise (common/ops/evidence.h): a predicate over them holds, or
 * the outputs agree with those that the mistake produces. An op's own mistakes are declared in its folder. The general
 * mistakes, which any op can have, are declared in mistakes.c. The first match is the diagnosis, so the certain ones
 * come first. Where two mistakes produce the same outputs, both are named.
 */
#ifndef DIAGNOSE_H
#define DIAGNOSE_H

#include "check.h"
#include "common/ops/reference.h"

/* The first mistake that matches, or NULL. */
const struct op_mistake *diagnose(const struct evidence *evidence);

/* Where `found` was recognised by the outputs that it produces: another mistake that produces them too, or NULL. The recorded
 * calls cannot tell the two apart. */
const struct op_mistake *diagnose_other(const struct evidence *evidence, const struct op_mistake *found);

/* The record of the mistake with that id, or NULL. */
const struct op_mistake *diagnosis_find(const char *id);

/* The next known mistake or further form of one, starting with {0, 0}; NULL after the last. Lists that several ops share are
 * repeated. */
struct diagnosis_place {
    int list, entry;
};
const struct op_mistake *diagnosis_next(struct diagnosis_place *place);

#endif
