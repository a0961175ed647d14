/* lanes.h — a warp's reduction with one mistake: the result that each lane gets. For computed mistakes of ops on rows.
 *
 * A lane has the columns of every 32nd vector of a row. Variants of an op's mistakes from LANES on are lanes_variant():
 * a mistake, the reductions that have it, and the elements of a vector.
 */
#ifndef LANES_H
#define LANES_H

#include <stdbool.h>

enum { LANES_OF_WARP = 32, LANES = 1 << 10 };

enum lane_mistake {
    LANE_ALONE = 1, /* not called, or its result is not used */
    LANE_DOWN,      /* __shfl_down_sync: lane 0 has the result */
    LANE_UP,        /* __shfl_up_sync: lane 31 has the result */
    LANE_NO_16,     /* the step of 16 is missing; those of 8 and 4 are those of 1 with longer vectors */
    LANE_NO_2,
    LANE_NO_1,
    LANE_REPLACED, /* the other lane's value replaces the own one */
};

/* The first reduction of a row (the maximum, the mean), the second (the sum, the variance), or both. */
enum lane_reductions { LANE_FIRST = 1, LANE_SECOND, LANE_BOTH };

#define LANES_VARIANT(mistake, reductions, vector) (LANES + ((mistake) << 6) + ((reductions) << 4) + (vector))

/* The forms of one mistake, for the three sizes of a vector. */
#define LANES_FORMS(mistake)                                                           \
    LANES_VARIANT(mistake, LANE_SECOND, 1), LANES_VARIANT(mistake, LANE_FIRST, 1),     \
        LANES_VARIANT(mistake, LANE_BOTH, 1), LANES_VARIANT(mistake, LANE_SECOND, 4),  \
        LANES_VARIANT(mistake, LANE_FIRST, 4), LANES_VARIANT(mistake, LANE_BOTH, 4),   \
        LANES_VARIANT(mistake, LANE_SECOND, 8), LANES_VARIANT(mistake, LANE_FIRST, 8), \
        LANES_VARIANT(mistake, LANE_BOTH, 8)

/* The records of these mistakes for an op that computes them; their sentences are in grader/mistakes.c. */
#define LANES_MISTAKES(function)                                                                     \
    {.id = "reduction-not-used", .compute = (function), .variant = {LANES_FORMS(LANE_ALONE)}},       \
        {.id = "reduction-in-one-lane",                                                              \
         .compute = (function),                                                                      \
         .variant = {LANES_FORMS(LANE_DOWN), LANES_FORMS(LANE_UP)}},                                 \
        {.id = "reduction-step-missing",                                                             \
         .compute = (function),                                                                      \
         .variant = {LANES_FORMS(LANE_NO_16), LANES_FORMS(LANE_NO_2), LANES_FORMS(LANE_NO_1)}},      \
    {                                                                                                \
        .id = "reduction-replaces", .compute = (function), .variant = { LANES_FORMS(LANE_REPLACED) } \
    }

static inline enum lane_mistake lanes_mistake(int variant) {
    return (enum lane_mistake)((variant - LANES) >> 6);
}

/* Does the variant's mistake concern that reduction? */
static inline bool lanes_has(int variant, enum lane_reductions reduction) {
    return ((variant - LANES) >> 4 & 3) & (int)reduction;
}

/* The lane that column c belongs to. */
static inline int lanes_of(int variant, int c) {
    return c / (variant & 15) % LANES_OF_WARP;
}

/* Replaces each lane's value by the result that the lane gets; mistake 0: the right one. */
void lanes_reduce(enum lane_mistake mistake, bool maximum, double value[LANES_OF_WARP]);

#endif
