/* ops.h — the ops that the course knows: names, types, tensors, shapes, byte floors. One table; it knows no step.
 *
 * The order of the tensors is the order of the launcher's pointer arguments (see contracts/). Most ops work on rows:
 * (N, C). The causal ones work on (B, H, T, T), which is (N, C) with N = B * H * T rows of C = T columns each. Lab 4's wire a
 * model: B sequences of T tokens, N = B * T rows of C = H * D channels, and a cache of S positions a sequence.
 */
#ifndef OPS_H
#define OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OP_MAX_TENSORS = 40, OP_MAX_DIMS = 4 };

/* The element type T of a launcher, which its name ends in: softmax_forward_bf16. */
enum op_type { TYPE_F32, TYPE_F16, TYPE_BF16, OP_TYPES };

enum op_role {
    ROLE_IN,         /* read; must hold the same bytes after the call */
    ROLE_OUT,        /* overwritten: every element must be written */
    ROLE_ACCUMULATE, /* added to what it holds */
    ROLE_UPDATE,     /* read, and written in part: the rest must hold the same bytes after the call */
    ROLE_WORK,       /* room to work in: holds nothing before the call, and nobody looks after it */
};

enum op_shape {
    SHAPE_NC,
    SHAPE_N,
    SHAPE_C,
    SHAPE_BHTT, /* (B, H, T, T): rows and columns like (N, C), of which a mask leaves the part on and below the diagonal */
    SHAPE_B,
    /* of a model; K = S - T decoding steps after the prompt */
    SHAPE_N3C,
    SHAPE_N4C,
    SHAPE_BHSD,   /* a cache */
    SHAPE_SCORES, /* (B, H, T, T), as room to work in */
    SHAPE_3C,
    SHAPE_4C,
    SHAPE_CC,
    SHAPE_3CC,
    SHAPE_4CC,
    SHAPE_C4C,
    SHAPE_LNC, /* (2 L + 1, N, C): two hidden states a layer, and the last one */
    SHAPE_NV,
    SHAPE_WEIGHTS, /* all tensors of a model, one after the other */
    SHAPE_KB,      /* (K, B) */
    SHAPE_K1B,     /* (K + 1, B): the prompt's end and every step after it */
    SHAPE_K1BC,
    SHAPE_K1BV,
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
    int lengths; /* 1: there is a tensor `lengths` or `positions`; 0: it is a null pointer */
    int S;       /* positions of a cache */
    int L;       /* layers of a model; of a block: which layer it is */
    int V;       /* tokens of a vocabulary */
};

struct op {
    const char *name; /* "softmax_forward": its launchers are softmax_forward_f32, ... */
    unsigned types;   /* bit 1 << type: there is a launcher for that type */
    /* the launcher's ints after its tensors, a letter each: those of struct op_sizes; D is C / H, U is upper */
    const char *ints;
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

/* Does it wire a model: attention, a block, a whole pass? */
bool op_is_wiring(const struct op *op);

/* Is it a whole model, with all its weights? */
bool op_is_model(const struct op *op);

/* Sizes of a wiring call, N and C included: B sequences of T tokens, H heads of D channels, S positions; L 1 and V 0. */
struct op_sizes op_wiring_sizes(enum op_type type, int B, int T, int H, int D, int S);

/* The size of that letter (see struct op). */
int op_size(const struct op_sizes *sizes, char letter);

/* Is this tensor written: neither an input nor room to work in? */
bool op_is_output(const struct op *op, int tensor);

/* Has this tensor rows and columns: (N, C) or (B, H, T, T)? */
bool op_has_rows(const struct op *op, int tensor);

/* One element for each row (or column, or step): does a report show one index of it? */
bool op_is_scalar(enum op_shape shape);

/* Elements in one row of a tensor, as a report shows it: 1 where it is a list, D of a cache. */
size_t op_row_elements(const struct op *op, int tensor, const struct op_sizes *sizes);

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
