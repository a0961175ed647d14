/* mistakes.h — the general mistakes, which any op can have. The mistakes of one op are declared in its folder. */
#ifndef MISTAKES_H
#define MISTAKES_H

#include "common/ops/reference.h"

/* The list that follows the ops' own mistakes of a stage in the order of diagnosis, or NULL. Each list is ended by an entry
 * without id. */
extern const struct op_mistake *const mistakes_of_stage[MISTAKE_STAGES];

/* These lists, and that of kernels that are right but slow, which score.c names; ended by NULL. */
extern const struct op_mistake *const mistakes_lists[];

#endif
