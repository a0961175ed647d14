/* row_dot in float64, and its known mistakes. */
#include "ops/row_sum/row_sum.h"

static void compute(const struct op_call *call, int variant) {
    (void)variant;
    row_sums(call, call_given(call, "weight"), 0);
}

static void mistaken(const struct op_call *call, int variant) {
    row_sums_mistaken(call, call_given(call, "weight"), 0, variant);
}

static const struct op_mistake mistakes[] = {
    {.id = "sum-not-weighted",
     .cause = "the elements are summed without their weights",
     .hint = 3,
     .kernel = "row_dot/not_weighted",
     .compute = row_sums_plain,
     .variant = {1}},
    ROW_SUM_MISTAKES(mistaken),
    {.id = NULL},
};

const struct op_reference op_reference_row_dot = {.compute = compute, .mistakes = {mistakes}};
