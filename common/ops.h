/* ops.h — the ops that the course knows: names, tensors, shapes, byte floors. One table; it knows no step.
 *
 * The order of the tensors is the order of the launcher's pointer arguments (see contracts/).
 */
#ifndef OPS_H
#define OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OP_MAX_TENSORS = 10, OP_MAX_DIMS = 4 };

enum op_role {
    ROLE_IN,         /* read; must hold the same bytes after the call */
    ROLE_OUT,        /* overwritten: every element must be written */
    ROLE_ACCUMULATE, /* added to what it holds */
};

enum op_shape { SHAPE_NC, SHAPE_N, SHAPE_C };

struct op_tensor {
    const char *name;
    enum op_role role;
    enum op_shape shape;
};

struct op_sizes {
    int N; /* rows */
    int C; /* columns */
    float eps;
};

struct op {
    const char *name;     /* "softmax_forward" */
    const char *launcher; /* "softmax_forward_f32" */
    int tensor_count;
    struct op_tensor tensor[OP_MAX_TENSORS];
    int alias[OP_MAX_TENSORS]; /* bit j of alias[i]: output i may be the same pointer as tensor j */
    bool deterministic;        /* two calls must agree bit for bit */
};

/* The table, ended by an entry without a name. */
extern const struct op ops[];

/* The op of that name, or NULL. */
const struct op *op_find(const char *name);

/* Elements of one tensor. */
size_t op_elements(const struct op *op, int tensor, const struct op_sizes *sizes);

/* The byte floor: every (N, C) tensor that is read, read once; every one that is written, written once.
 * An accumulated or (N)- or (C)-shaped tensor is small and counts as its size once. */
size_t op_floor_bytes(const struct op *op, const struct op_sizes *sizes);

#ifdef __cplusplus
}
#endif
#endif
