/* explore.h — the calls that a submission's own branches ask for.
 *
 * A kernel is often wrong only where a branch that few calls take meets a property that few calls have: a hard-wired eps
 * behind `C > 6000`, a vector access that one pointer's alignment forbids. So the grader looks for the branches first. A traced
 * program (common/runner/trace.cpp) tells which ones a call takes: its atoms, which are basic blocks and outcomes of
 * comparisons. Atoms that depend on the data are left out: they are reached with some inputs of a size and not with others.
 *
 *   1. The fixed cases (cases.c) are traced.
 *   2. Sizes are swept, one at a time, up to a limit of cost. Where an atom appears, the size at which it does is found by
 *      bisection. The sizes in the source's integers, and those that solve `operand == constant` for a traced comparison, are
 *      tried as well, each with its two neighbours. Comparisons behind others are solved from the calls that reach them. Where
 *      a grid stops growing, a call goes beyond. A source that asks for the device's limits is swept on a small device, too.
 *   3. Cases are chosen greedily, until every atom has been reached with every property that the contract allows
 *      (property.h). A case has several properties if none of them hides another. The elements of their
 *      tensors are at most those of the fixed cases, besides few calls of branches that only large ones reach.
 *
 * The trace comes from the learner's process: a suggestion for more calls, never a verdict.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include "check.h"
#include "source.h"

enum {
    EXPLORE_MAX_CASES = 320,
    EXPLORE_BLOCKS = 4, /* the traced program runs so many blocks of a launch: its first and last (SIMT_BLOCKS) */
};

struct exploration {
    int case_count;
    struct test_case cases[EXPLORE_MAX_CASES];
    int atoms;                             /* that were found, apart from those that depend on data */
    int pairs, missing;                    /* of an atom and a property; those that no case reaches within the budget */
    uint64_t cost, plain_cost, fixed_cost; /* of the chosen cases, of those without a property, and of the fixed ones */
    uint64_t beyond_cost;                  /* of few large cases: beyond a grid */
    int probes;                            /* calls that were traced */
    int untried[64];                       /* of the missing ones: for each property */
    struct not_run not_run;                /* lines that neither the fixed nor the chosen cases execute */
};

/* `traced` runs traced programs, and `trace` is where their traces arrive. The cases depend on the source and the secret only:
 * they are the same on every machine. */
void explore(const struct device *traced, struct trace *trace, const struct op *op, enum op_type type,
             const struct source *source, uint64_t secret, struct exploration *found);

#endif
