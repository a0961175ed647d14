/* ops.h — how an op is described. Each folder NAME beside this file holds one op: its contract (the header that
 * learners read), its description (op.c), its float64 reference and known mistakes (reference.c), and its tests. The
 * build finds the folders; no list names them.
 *
 * A description is data. It is also linked into the runner, the process that runs a learner's code. The code that
 * judges a result is in the grader alone (reference.h).
 *
 * Sizes have names. Rows are (N, C). Causal ops work on (B, H, T, T), which is (N, C) with N = B * H * T rows of
 * C = T columns. Ops of a model work on B sequences of T tokens: N = B * T rows of C = H * D channels, and a key-value
 * cache of S positions per sequence.
 */
#ifndef OPS_H
#define OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OP_MAX_TENSORS = 40, OP_MAX_ALIASES = 3, OP_MAX_OWN = 4 };

/* The element type T of a launcher. The launcher's name ends in it: softmax_forward_bf16. */
enum op_type { TYPE_F32, TYPE_F16, TYPE_BF16, OP_TYPES };
enum { OP_F32 = 1 << TYPE_F32, OP_ALL_TYPES = 1 << TYPE_F32 | 1 << TYPE_F16 | 1 << TYPE_BF16 };

enum op_role {
    ROLE_IN,         /* read; unchanged after the call */
    ROLE_OUT,        /* overwritten: every element is written */
    ROLE_ACCUMULATE, /* the result is added (+=) */
    ROLE_UPDATE,     /* read, and written in part; the rest is unchanged after the call */
    ROLE_WORK,       /* scratch: undefined before and after the call */
};

enum op_element {
    ELEMENT_T,     /* the launcher's type */
    ELEMENT_FLOAT, /* float in every type */
    ELEMENT_INT,
};

/* The meaning of a row. The layout decides:
 *   - the cases: shapes of (N, C), of (B, H, T, T) with and without lengths, or of sequences with a cache
 *   - the score: on sequences, the traffic of the large inputs and outputs counts. Otherwise all traffic counts, that of
 *     scratch included, except that of small tensors.
 * A report shows the sizes that the launcher takes and the index that fits the tensor's shape, in every layout. */
enum op_layout {
    LAYOUT_ROWS,     /* (N, C) */
    LAYOUT_MATRICES, /* (B, H, T, T): causal, so the elements above the diagonal are masked */
    LAYOUT_PROMPTS,  /* B sequences of T tokens, N = B * T */
    LAYOUT_TOKENS,   /* one token for each of B sequences, N = B */
    LAYOUT_MODEL,    /* B prompts of T tokens through a whole model, then K = S - T decoding steps */
};

/* The default values of an input. */
enum op_values {
    HOLDS_BELL,   /* bell-shaped around 0, deviation 1 */
    HOLDS_WEIGHT, /* around 1: a LayerNorm's weight */
};

struct op_tensor {
    const char *name;
    enum op_role role;
    /* Dimensions, separated by commas, each a sum of products of sizes: "N, C", "N, 3C", "2L+1, N, C". The letters are
     * N C B H T D S L V and K = S - T. */
    const char *shape;
    enum op_element element;
    enum op_values holds;
    bool nullable;                     /* may be a null pointer, if sizes->lengths is 0 */
    const char *alias[OP_MAX_ALIASES]; /* for an output: the tensors that may have its pointer */
};

/* A scalar argument. Most calls use the usual value. Some use the other one, to detect a value fixed in the code. */
struct op_scalar {
    const char *name;
    bool is_float;
    double usual, other; /* 0 for a size */
};

/* The sizes and scalars of one call. */
struct op_sizes {
    int N; /* rows */
    int C; /* columns */
    float eps;
    enum op_type type;
    int B, H, T;
    float scale;
    int upper;   /* 0: masked elements are written as 0; 1: elements above the diagonal are neither read nor written */
    int lengths; /* 1: the nullable tensor is given */
    int S;       /* positions of a cache */
    int L;       /* layers of a model; for a block, the index of its layer */
    int V;       /* tokens of a vocabulary */
    double own[OP_MAX_OWN]; /* an op's own scalars, in their order */
};

/* Kinds of hard input values (inputs.h), as bits. */
typedef unsigned op_hard;

struct op {
    const char *name; /* "softmax_forward": its launchers are softmax_forward_f32, ... */
    unsigned types;   /* OP_F32 or OP_ALL_TYPES */
    enum op_layout layout;
    struct op_tensor tensor[OP_MAX_TENSORS]; /* in the order of the launcher's pointers; ended by one without a name */
    /* The launcher's arguments between its tensors and the stream, in its order: "N, C, eps". The known names are
     * the sizes N C B H T D S L V, upper (int), eps and scale (float). */
    const char *scalars;
    struct op_scalar own[OP_MAX_OWN];   /* scalars with other names */
    op_hard hard;                       /* kinds of hard values that the contract covers */
    const char *hard_input, *nan_input; /* the inputs with the hard values and with the NaN; by default "x" */
    bool elementwise; /* an element of out depends on the inputs' elements at its own index, and on small tensors */
    bool order_free;  /* sums may be in any order: two calls may differ in the last bits */
};

/* All ops, in the order of their names, ended by NULL. */
extern const struct op *const ops[];

/* The op of that name, or NULL. */
const struct op *op_find(const char *name);

int op_tensor_count(const struct op *op);

/* The index of the tensor of that name, or -1. */
int op_tensor_find(const struct op *op, const char *name);

/* May output i share its pointer with tensor t? */
bool op_may_alias(const struct op *op, int i, int t);

/* "f32", "f16", "bf16". */
const char *op_type_name(enum op_type type);

/* "softmax_forward_bf16". */
void op_launcher_name(const struct op *op, enum op_type type, char *text, size_t size);

/* ---- scalars ---- */

int op_scalar_count(const struct op *op);

/* Argument i of the op's scalars; NULL if its name is neither known nor in `own`. */
const struct op_scalar *op_scalar_at(const struct op *op, int i);

/* Is it a size (N, C, T, ...), not a flag or a value? */
bool op_scalar_is_size(const struct op_scalar *scalar);

/* The value of argument i in a call. */
double op_scalar_get(const struct op *op, const struct op_sizes *sizes, int i);

/* Does the launcher take a scalar of that name? */
bool op_has_scalar(const struct op *op, const char *name);

/* Sets a size or scalar by name, known or the op's own. False if there is none of that name. D sets C to H * D, so set
 * H first. op_sizes_complete() derives N and C of causal and model ops. */
bool op_sizes_set(const struct op *op, struct op_sizes *sizes, const char *name, double value);

/* Derives N and C from the other sizes, if the op's layout does so. Scalars that are 0 get their usual value. */
void op_sizes_complete(const struct op *op, struct op_sizes *sizes);

/* ---- layouts ---- */

/* LAYOUT_MATRICES: are its rows those of (B, H, T, T)? */
bool op_is_on_matrices(const struct op *op);

/* Sizes of a causal call, N and C included. */
struct op_sizes op_causal_sizes(enum op_type type, int B, int H, int T, float scale);

/* LAYOUT_PROMPTS, _TOKENS or _MODEL: are its rows tokens of sequences? Such ops are models and parts of one. */
bool op_is_on_sequences(const struct op *op);

/* LAYOUT_MODEL: is it a whole model, with all its weights? */
bool op_is_model(const struct op *op);

/* Sizes of a call of a model's part, N and C included: B sequences of T tokens, H heads of D channels, S positions;
 * L is 1 and V is 0. */
struct op_sizes op_model_sizes(enum op_type type, int B, int T, int H, int D, int S);

/* ---- tensors ---- */

/* Is this tensor written: neither an input nor scratch? */
bool op_is_output(const struct op *op, int tensor);

/* Does this tensor have the rows and columns of the op's layout: (N, C) or (B, H, T, T)? */
bool op_has_rows(const struct op *op, int tensor);

/* Does it have that shape, written as in the description? */
bool op_shape_is(const struct op *op, int tensor, const char *shape);

/* Is it one-dimensional, so that a report shows one index? */
bool op_is_list(const struct op *op, int tensor);

/* Elements in one row of a tensor, as shown in a report: the last dimension, or 1 for a list. */
size_t op_row_elements(const struct op *op, int tensor, const struct op_sizes *sizes);

/* Bytes of one element of a tensor. */
size_t op_element_bytes(const struct op *op, int tensor, enum op_type type);

/* False for a nullable tensor that is null in the call. */
bool op_is_given(const struct op *op, int tensor, const struct op_sizes *sizes);

/* Elements of one tensor; 0 if it is null. It parses the shape: call it once per tensor, not per element. */
size_t op_elements(const struct op *op, int tensor, const struct op_sizes *sizes);

/* The least number of elements of one tensor that a call reads or writes: all of them, with two exceptions. Of a
 * (B, H, T, T) tensor that is read, or written with upper == 1, those on and below the diagonal; keys masked by lengths
 * are counted. Of scratch, none. */
size_t op_needed_elements(const struct op *op, int tensor, const struct op_sizes *sizes);

/* The byte floor: every input read once, every output written once, and no scratch. */
size_t op_floor_bytes(const struct op *op, const struct op_sizes *sizes);

/* Is the description consistent: names, shapes, aliases, scalars? If not, `text` gets the error. */
bool op_is_sound(const struct op *op, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
