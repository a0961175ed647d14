/* ops.h — the ops that the course knows: names, types, tensors, shapes, byte floors. One table; it knows no step.
 *
 * The order of the tensors is the order of the launcher's pointer arguments (see contracts/). Most ops work on rows:
 * (N, C). The causal ones work on (B, H, T, T), which is (N, C) with N = B * H * T rows of C = T columns each.
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

/* The element type T of a launcher, which its name ends in: softmax_forward_bf16. */
enum op_type { TYPE_F32, TYPE_F16, TYPE_BF16, OP_TYPES };

enum op_role {
    ROLE_IN,         /* read; must hold the same bytes after the call */
    ROLE_OUT,        /* overwritten: every element must be written */
    ROLE_ACCUMULATE, /* added to what it holds */
};

enum op_shape {
    SHAPE_NC,
    SHAPE_N,
    SHAPE_C,
    SHAPE_BHTT, /* (B, H, T, T): rows and columns like (N, C), of which a mask leaves the part on and below the diagonal */
    SHAPE_B,
};

enum op_element {
    ELEMENT_T,     /* the launcher's type */
    ELEMENT_FLOAT, /* float, whatever the launcher's type is */
    ELEMENT_INT,   /* int */
};

struct op_tensor {
    const char *name;
    enum op_role role;
    enum op_shape shape;
    enum op_element element;
};

/* What one call is asked for: everything that is no tensor. */
struct op_sizes {
    int N; /* rows */
    int C; /* columns */
    float eps;
    enum op_type type;
    int B, H, T; /* (B, H, T, T) only, where N is B * H * T and C is T */
    float scale;
    int upper;   /* 0: what is masked is written as 0; 1: what is above the diagonal is left alone */
    int lengths; /* 1: there is a tensor `lengths`; 0: it is a null pointer */
};

struct op {
    const char *name; /* "softmax_forward": its launchers are softmax_forward_f32, ... */
    unsigned types;   /* bit 1 << type: there is a launcher for that type */
    int tensor_count;
    struct op_tensor tensor[OP_MAX_TENSORS];
    int alias[OP_MAX_TENSORS]; /* bit j of alias[i]: output i may be the same pointer as tensor j */
    bool deterministic;        /* two calls must agree bit for bit */
};

/* The table, ended by an entry without a name. */
extern const struct op ops[];

/* The op of that name, or NULL. */
const struct op *op_find(const char *name);

/* The tensor of that name, or -1. */
int op_tensor_find(const struct op *op, const char *name);

/* "f32", "f16", "bf16". */
const char *op_type_name(enum op_type type);

/* "softmax_forward_bf16". */
void op_launcher_name(const struct op *op, enum op_type type, char *text, size_t size);

/* Is it on (B, H, T, T)? */
bool op_is_causal(const struct op *op);

/* Sizes of a causal call, N and C included. */
struct op_sizes op_causal_sizes(enum op_type type, int B, int H, int T, float scale);

/* Has this tensor rows and columns: (N, C) or (B, H, T, T)? */
bool op_has_rows(const struct op *op, int tensor);

/* Bytes of one element of a tensor. */
size_t op_element_bytes(const struct op *op, int tensor, enum op_type type);

/* False for lengths that are a null pointer. */
bool op_is_given(const struct op *op, int tensor, const struct op_sizes *sizes);

/* Elements of one tensor; 0 for lengths that are not given. */
size_t op_elements(const struct op *op, int tensor, const struct op_sizes *sizes);

/* Elements of one tensor that a call has to read or write at least: all, but of (B, H, T, T) tensors that are read, or
 * written with upper == 1, those on and below the diagonal alone. (What lengths mask besides is not taken off.) */
size_t op_needed_elements(const struct op *op, int tensor, const struct op_sizes *sizes);

/* The byte floor: everything that is read, read once; everything that is written, written once. */
size_t op_floor_bytes(const struct op *op, const struct op_sizes *sizes);

#ifdef __cplusplus
}
#endif
#endif
