/* diagnose.h — finds a failure's cause among the known mistakes, or else the nearest known fact.
 *
 * A cause is named where the recorded calls of an exercise (common/ops/evidence.h) exclude others: the backend reported it, or
 * the outputs of all wrong calls are those that the mistake produces. Right calls must agree too: the mistake changes nothing
 * there, or a property that only the wrong calls have sets them apart, as a path of its own does. Where two mistakes produce
 * the same outputs, both are named. Otherwise a predicate over the calls gives a fact: what is wrong, and where to look.
 *
 * An op's own mistakes and facts are declared in its folder, those of any op in mistakes.c. The first match is the diagnosis.
 */
#ifndef DIAGNOSE_H
#define DIAGNOSE_H

#include "check.h"
#include "common/ops/reference.h"

struct diagnosis {
    const struct op_mistake *found; /* the first mistake or fact that matches, or NULL; it has a cause or a fact */
    const struct op_mistake
        *other;     /* a mistake with the same outputs as `found`, or NULL: the calls cannot tell the two apart */
    int candidates; /* computed mistakes that agree, up to 3; of 3 none is named */
    char calls[256], results[256]; /* of calls.h, where they say more than `found`; or empty */
};
struct diagnosis diagnose(const struct evidence *evidence);

/* The record of the mistake with that id, or NULL. */
const struct op_mistake *diagnosis_find(const char *id);

/* The next known mistake or further form of one, starting with {0, 0}; NULL after the last. Lists that several ops share are
 * repeated. */
struct diagnosis_place {
    int list, entry;
};
const struct op_mistake *diagnosis_next(struct diagnosis_place *place);

#endif
