/* cases.h — what the files of the cases share. Inside cases.c's work. */
#ifndef CASES_H
#define CASES_H

#include "check.h"

struct case_list {
    struct test_case *cases;
    int count, capacity;
    uint64_t seed;
    const struct op *op;
    enum op_type type;
};

/* A case of the list's type with a seed of its own. */
struct test_case *cases_add(struct case_list *list, struct op_sizes sizes, enum input_values values);

/* Every scalar that has a usual value gets its other one: an argument that is fixed in the code shows. */
void cases_other_scalars(const struct op *op, struct op_sizes *sizes);

/* A number of [low, high] that only the secret knows. */
int cases_draw(uint64_t *secret, int low, int high);

/* The cases of an op that wires a model. cases_model.c */
void cases_model(struct case_list *list, enum check_kind kind, uint64_t secret);

#endif
