/* property.h — the properties of a call beside its sizes, on which a branch can be wrong: the kind of values, other scalars,
 * lengths, the triangle, an odd number of elements, pointers that are misaligned or shared, another order of blocks, a call
 * before it, a refused launch.
 *
 * A set of properties is a uint64_t, with one bit for each.
 */
#ifndef PROPERTY_H
#define PROPERTY_H

#include "check.h"

enum {
    PROPERTY_VALUES = 0, /* + enum input_values */
    PROPERTY_OTHER_SCALARS = 20,
    PROPERTY_INEXACT_SCALARS, /* not a value of a 16-bit type */
    PROPERTY_LENGTHS,
    PROPERTY_NO_LENGTHS,
    PROPERTY_UPPER,
    PROPERTY_LOWER,
    PROPERTY_REORDERED, /* the same call again, with blocks in another order; needs the plain call before it */
    PROPERTY_REHEARSED,
    PROPERTY_REFUSED,
    PROPERTY_ROWS,  /* more than one row */
    PROPERTY_SMALL, /* a small device */
    PROPERTY_ODD,   /* an odd number of elements: no vectors or chunks cover them exactly */
    PROPERTY_ALL_MOVED,
    PROPERTY_MOVED,       /* + tensor */
    PROPERTY_SHARED = 50, /* + number of the pair of output and tensor */
    PROPERTIES = 64
};

/* Those that the op's contract allows. */
uint64_t property_all(const struct op *op);

/* Those that a fault of a call with that case can show. Values far from the usual ones hide the scalars. */
uint64_t property_of(const struct op *op, const struct test_case *test);

/* Gives the case the property. */
void property_apply(const struct op *op, struct test_case *test, int property);

/* Takes the property of that number from a case, the simplest first; false when there is none with that number. */
bool property_without(const struct op *op, struct test_case *test, int number);

/* As a report says it: "values peak", "weight misaligned". Returns `text`. */
const char *property_name(const struct op *op, int property, char *text, size_t size);

#endif
