/* diagnose.h — from a failure to its likely cause: signatures of known mistakes.
 *
 * A signature looks at what all calls of an exercise have shown so far (struct evidence of check.h): which elements are
 * wrong, at which shapes and values, what the backend said; or it recomputes the op with one known mistake in it
 * (mistakes.c) and compares. The first signature of the table that matches wins, so the certain ones come first.
 *
 * Their tables have the ids, each with one sentence and the level of the hint to read.
 */
#ifndef DIAGNOSE_H
#define DIAGNOSE_H

#include "check.h"

struct signature {
    const char *id;
    const char *cause; /* one sentence: what the code probably does, and what it should do */
    int hint;          /* level of the hint to read */
    bool (*match)(const struct signature *signature, const struct evidence *evidence);
    int argument; /* for families of signatures that share `match` */
};

/* The tables, each ended by one without id: what the process, the launch, the backend or the memory has told of; what the
 * outputs show, of a model's wiring and of any op, which is asked after it. */
extern const struct signature signatures_reported[], signatures_wiring[], signatures_shown[];

/* The first signature that matches, or NULL. */
const struct signature *diagnose(const struct evidence *evidence);

const struct signature *signature_find(const char *id);

#endif
