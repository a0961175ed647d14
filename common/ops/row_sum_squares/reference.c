/* row_sum_squares in float64, and its known mistakes. */
#include "ops/row_sum/row_sum.h"

static void compute(const struct op_call *call, int variant) {
    (void)variant;
    row_sums(call, call_given(call, "x"), (size_t)call->sizes->C);
}

static void mistaken(const struct op_call *call, int variant) {
    row_sums_mistaken(call, call_given(call, "x"), (size_t)call->sizes->C, variant);
}

static const struct op_mistake mistakes[] = {
    {.id = "sum-not-squared",
     .cause = "the elements are summed without being squared",
     .hint = 3,
     .kernel = "row_sum_squares/not_squared",
     .compute = row_sums_plain,
     .variant = {1}},
    ROW_SUM_MISTAKES(mistaken),
    {.id = NULL},
};

const struct op_reference op_reference_row_sum_squares = {.compute = compute, .mistakes = {mistakes}};
