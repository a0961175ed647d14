/* calls.h — which calls are wrong, and what their wrong results have in common. */
#ifndef CALLS_H
#define CALLS_H

#include "common/ops/evidence.h"

/* Writes "every wrong call is one with C >= 1025" if some property has this meaning: every wrong call has it,
 * and of the right calls at least two do not; for a property of a size none does. Nor may so many of the right calls have it
 * that as many calls as are wrong would often all have it by chance. Else writes "" and returns false. */
bool calls_describe(const struct evidence *evidence, char *text, size_t size);

/* Is there such a property that a kernel may have a path of its own for? For the value of a scalar, such as eps, it has none. */
bool calls_share_a_path(const struct evidence *evidence);

/* Writes which outputs are right in every call, if some are and others are not, or what every wrong element is: NaN, infinite,
 * 0 or not written. Else "", and false. */
bool results_describe(const struct evidence *evidence, char *text, size_t size);

#endif
