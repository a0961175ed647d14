/* cases.h — shared by cases.c and cases_model.c only. */
#ifndef CASES_H
#define CASES_H

#include "check.h"

#define LEAST_EPS 1e-9f /* a kernel may not have a least one of its own */

struct case_list {
    struct test_case *cases;
    int count, capacity;
    uint64_t seed;
    const struct op *op;
    enum op_type type;
};

/* A case of the list's type with a seed of its own. */
struct test_case *cases_add(struct case_list *list, struct op_sizes sizes, enum input_values values);

/* Every scalar with a usual value gets its other value, which detects values fixed in the code. */
void cases_other_scalars(const struct op *op, struct op_sizes *sizes);

/* A number in [low, high], drawn from the secret. */
int cases_draw(uint64_t *secret, int low, int high);

/* The cases of a model or a part of one. cases_model.c */
void cases_model(struct case_list *list, enum check_kind kind, uint64_t secret);

#endif
