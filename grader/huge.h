/* huge.h — calls with more elements than an int counts: nearly 2^32. A kernel that computes an index in int, n * C + c, is
 * right in every smaller call. The tensors have no data (common/runner/huge.cpp), so such a call takes no memory and little
 * time. It shows three things: an access up to 2^31 elements before a tensor; an output of which no block wrote anything from
 * element 2^31 on, which is half of it; and a launch that is refused for its grid.
 */
#ifndef HUGE_H
#define HUGE_H

#include "check.h"

enum { HUGE_CASES = 2 };

/* A call with short rows, and one with long ones. 0 for ops on sequences. */
int huge_cases(const struct op *op, enum op_type type, struct test_case cases[HUGE_CASES]);

/* On a device that is a traced program. Without an answer, the call says nothing, and counts as right. */
struct evidence_case *huge_call(const struct device *device, const struct op *op, const struct test_case *test,
                                struct result *result);

#endif
