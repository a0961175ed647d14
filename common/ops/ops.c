#include "ops.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OP(name) extern const struct op op_##name;
#include "ops/index.h"
#undef OP

const struct op *const ops[] = {
#define OP(name) &op_##name,
#include "ops/index.h"
#undef OP
    NULL,
};

const struct op *op_find(const char *name) {
    for (const struct op *const *op = ops; *op; op++) {
        if (strcmp((*op)->name, name) == 0) { return *op; }
    }
    return NULL;
}

int op_tensor_count(const struct op *op) {
    int count = 0;
    while (count < OP_MAX_TENSORS && op->tensor[count].name) { count++; }
    return count;
}

int op_tensor_find(const struct op *op, const char *name) {
    for (int t = 0; t < OP_MAX_TENSORS && op->tensor[t].name; t++) {
        if (strcmp(op->tensor[t].name, name) == 0) { return t; }
    }
    return -1;
}

bool op_may_alias(const struct op *op, int i, int t) {
    for (int k = 0; k < OP_MAX_ALIASES && op->tensor[i].alias[k]; k++) {
        if (strcmp(op->tensor[i].alias[k], op->tensor[t].name) == 0) { return true; }
    }
    return false;
}

const char *op_type_name(enum op_type type) {
    static const char *const names[OP_TYPES] = {"f32", "f16", "bf16"};
    return names[type];
}

void op_launcher_name(const struct op *op, enum op_type type, char *text, size_t size) {
    snprintf(text, size, "%s_%s", op->name, op_type_name(type));
}

/* ---- scalars ---- */

static const struct known {
    struct op_scalar scalar;
    size_t offset; /* in struct op_sizes; none for D, which is C / H */
} known_scalars[] = {
    {{"N", false, 0, 0}, offsetof(struct op_sizes, N)},
    {{"C", false, 0, 0}, offsetof(struct op_sizes, C)},
    {{"B", false, 0, 0}, offsetof(struct op_sizes, B)},
    {{"H", false, 0, 0}, offsetof(struct op_sizes, H)},
    {{"T", false, 0, 0}, offsetof(struct op_sizes, T)},
    {{"D", false, 0, 0}, SIZE_MAX},
    {{"S", false, 0, 0}, offsetof(struct op_sizes, S)},
    {{"L", false, 0, 0}, offsetof(struct op_sizes, L)},
    {{"V", false, 0, 0}, offsetof(struct op_sizes, V)},
    {{"upper", false, 0, 1}, offsetof(struct op_sizes, upper)},
    {{"lengths", false, 0, 1}, offsetof(struct op_sizes, lengths)},
    {{"eps", true, 1e-5, 0.125}, offsetof(struct op_sizes, eps)},
    {{"scale", true, 0.125, 12.0}, offsetof(struct op_sizes, scale)},
};

static bool is_named(const char *name, const char *text, size_t length) {
    return strlen(name) == length && strncmp(name, text, length) == 0;
}

static const struct known *known_find(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof known_scalars / sizeof *known_scalars; i++) {
        if (is_named(known_scalars[i].scalar.name, name, length)) { return &known_scalars[i]; }
    }
    return NULL;
}

/* The index of the op's own scalar in sizes->own, or -1. */
static int own_find(const struct op *op, const char *name, size_t length) {
    for (int i = 0; i < OP_MAX_OWN && op->own[i].name; i++) {
        if (is_named(op->own[i].name, name, length)) { return i; }
    }
    return -1;
}

/* Finds name i of the list. Returns its length, or 0 after the last. */
static size_t scalar_name(const struct op *op, int i, const char **name) {
    const char *at = op->scalars ? op->scalars : "";
    for (;; i--) {
        at += strspn(at, ", ");
        size_t length = strcspn(at, ", ");
        if (i == 0 || length == 0) {
            *name = at;
            return length;
        }
        at += length;
    }
}

int op_scalar_count(const struct op *op) {
    const char *name;
    int count = 0;
    while (scalar_name(op, count, &name) > 0) { count++; }
    return count;
}

const struct op_scalar *op_scalar_at(const struct op *op, int i) {
    const char *name;
    size_t length = scalar_name(op, i, &name);
    const struct known *known = known_find(name, length);
    int own = own_find(op, name, length);
    return known ? &known->scalar : own >= 0 ? &op->own[own] : NULL;
}

bool op_scalar_is_size(const struct op_scalar *scalar) {
    return !scalar->is_float && scalar->usual == 0.0 && scalar->other == 0.0;
}

double op_scalar_get(const struct op *op, const struct op_sizes *sizes, int i) {
    const char *name;
    size_t length = scalar_name(op, i, &name);
    const struct known *known = known_find(name, length);
    if (!known) { return sizes->own[own_find(op, name, length)]; }
    if (known->offset == SIZE_MAX) { return sizes->C / sizes->H; }
    const char *field = (const char *)sizes + known->offset;
    return known->scalar.is_float ? (double)*(const float *)field : (double)*(const int *)field;
}

bool op_has_scalar(const struct op *op, const char *name) {
    for (int i = 0; i < op_scalar_count(op); i++) {
        if (op_scalar_at(op, i) && strcmp(op_scalar_at(op, i)->name, name) == 0) { return true; }
    }
    return false;
}

bool op_sizes_set(const struct op *op, struct op_sizes *sizes, const char *name, double value) {
    const struct known *known = known_find(name, strlen(name));
    int own = own_find(op, name, strlen(name));
    char *field = (char *)sizes;
    if (!known && own >= 0) {
        sizes->own[own] = value;
    } else if (known && known->offset == SIZE_MAX) {
        sizes->C = sizes->H * (int)value;
    } else if (known && known->scalar.is_float) {
        *(float *)(field + known->offset) = (float)value;
    } else if (known) {
        *(int *)(field + known->offset) = (int)value;
    }
    return known || own >= 0;
}

/* INT_MAX: more. */
static int product(int a, int b, int c) {
    int ab, all;
    return __builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(ab, c, &all) ? INT_MAX : all;
}

void op_sizes_complete(const struct op *op, struct op_sizes *sizes) {
    if (op->layout == LAYOUT_MATRICES) {
        sizes->N = product(sizes->B, sizes->H, sizes->T);
        sizes->C = sizes->T;
    } else if (op->layout == LAYOUT_TOKENS) {
        sizes->N = sizes->B;
    } else if (op->layout != LAYOUT_ROWS) {
        sizes->N = product(sizes->B, sizes->T, 1);
    }
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        if (scalar->usual != 0.0 && op_scalar_get(op, sizes, i) == 0.0) {
            op_sizes_set(op, sizes, scalar->name, scalar->usual);
        }
    }
}

/* ---- layouts ---- */

bool op_is_on_matrices(const struct op *op) {
    return op->layout == LAYOUT_MATRICES;
}

struct op_sizes op_causal_sizes(enum op_type type, int B, int H, int T, float scale) {
    struct op_sizes sizes = {.N = B * H * T, .C = T, .type = type, .B = B, .H = H, .T = T, .scale = scale};
    return sizes;
}

bool op_is_on_sequences(const struct op *op) {
    return op->layout == LAYOUT_PROMPTS || op->layout == LAYOUT_TOKENS || op->layout == LAYOUT_MODEL;
}

bool op_is_model(const struct op *op) {
    return op->layout == LAYOUT_MODEL;
}

struct op_sizes op_model_sizes(enum op_type type, int B, int T, int H, int D, int S) {
    struct op_sizes sizes = {
        .N = B * T, .C = H * D, .eps = 1e-5f, .type = type, .B = B, .H = H, .T = T, .lengths = 1, .S = S, .L = 1};
    return sizes;
}

/* ---- shapes: dimensions separated by commas, sums of products ---- */

/* -1: no such letter. */
static long letter_value(const struct op_sizes *sizes, char letter) {
    switch (letter) {
        case 'N': return sizes->N;
        case 'C': return sizes->C;
        case 'B': return sizes->B;
        case 'H': return sizes->H;
        case 'T': return sizes->T;
        case 'D': return sizes->H ? sizes->C / sizes->H : 0;
        case 'S': return sizes->S;
        case 'L': return sizes->L;
        case 'V': return sizes->V;
        case 'K': return sizes->S - sizes->T;
        default: return -1;
    }
}

/* One dimension; *at moves to the comma or the end after it. */
static size_t dimension(const char **at, const struct op_sizes *sizes) {
    size_t sum = 0, product = 1;
    for (; **at && **at != ','; (*at)++) {
        if (isdigit((unsigned char)**at)) {
            char *end;
            product *= strtoul(*at, &end, 10);
            *at = end - 1;
        } else if (**at == '+') {
            sum += product;
            product = 1;
        } else if (**at != ' ') {
            product *= (size_t)letter_value(sizes, **at);
        }
    }
    return sum + product;
}

bool op_is_output(const struct op *op, int tensor) {
    return op->tensor[tensor].role != ROLE_IN && op->tensor[tensor].role != ROLE_WORK;
}

bool op_shape_is(const struct op *op, int tensor, const char *shape) {
    return strcmp(op->tensor[tensor].shape, shape) == 0;
}

bool op_has_rows(const struct op *op, int tensor) {
    return op_shape_is(op, tensor, op_is_on_matrices(op) ? "B, H, T, T" : "N, C");
}

bool op_is_list(const struct op *op, int tensor) {
    return !strchr(op->tensor[tensor].shape, ',');
}

size_t op_row_elements(const struct op *op, int tensor, const struct op_sizes *sizes) {
    const char *shape = op->tensor[tensor].shape, *last = strrchr(shape, ',');
    if (op_shape_is(op, tensor, "C")) { return (size_t)sizes->C; } /* one element per column */
    if (!last) { return 1; }
    last++;
    return dimension(&last, sizes);
}

size_t op_element_bytes(const struct op *op, int tensor, enum op_type type) {
    bool narrow = op->tensor[tensor].element == ELEMENT_T && type != TYPE_F32;
    return narrow ? 2 : 4;
}

bool op_is_given(const struct op *op, int tensor, const struct op_sizes *sizes) {
    return !op->tensor[tensor].nullable || sizes->lengths;
}

size_t op_elements(const struct op *op, int tensor, const struct op_sizes *sizes) {
    if (op_has_rows(op, tensor)) { return (size_t)sizes->N * (size_t)sizes->C; } /* also of some rows of a whole */
    const char *at = op->tensor[tensor].shape;
    size_t count = dimension(&at, sizes);
    while (*at == ',') {
        at++;
        count *= dimension(&at, sizes);
    }
    return op_is_given(op, tensor, sizes) ? count : 0;
}

size_t op_needed_elements(const struct op *op, int tensor, const struct op_sizes *sizes) {
    if (op->tensor[tensor].role == ROLE_WORK) { return 0; }
    bool triangle = op_is_on_matrices(op) && op_has_rows(op, tensor);
    bool whole = !triangle || (op->tensor[tensor].role == ROLE_OUT && !sizes->upper);
    size_t T = (size_t)sizes->C, matrices = T ? (size_t)sizes->N / T : 0;
    return whole ? op_elements(op, tensor, sizes) : matrices * (T * (T + 1) / 2);
}

size_t op_floor_bytes(const struct op *op, const struct op_sizes *sizes) {
    size_t bytes = 0;
    for (int t = 0; t < op_tensor_count(op); t++) {
        bytes += op_needed_elements(op, t, sizes) * op_element_bytes(op, t, sizes->type);
    }
    return bytes;
}

/* ---- checks of a description ---- */

static bool shape_is_sound(const char *shape) {
    struct op_sizes sizes = {.N = 1, .C = 1, .B = 1, .H = 1, .T = 1, .S = 2, .L = 1, .V = 1};
    for (const char *c = shape; *c; c++) {
        if (!isdigit((unsigned char)*c) && !strchr("+, ", *c) && letter_value(&sizes, *c) < 0) { return false; }
    }
    return shape[0] != '\0';
}

bool op_is_sound(const struct op *op, char *text, size_t size) {
    int outputs = 0;
    text[0] = '\0';
    for (int t = 0; t < op_tensor_count(op); t++) {
        const struct op_tensor *tensor = &op->tensor[t];
        outputs += op_is_output(op, t);
        if (op_tensor_find(op, tensor->name) != t) { snprintf(text, size, "two tensors are called %s", tensor->name); }
        if (!tensor->shape || !shape_is_sound(tensor->shape)) {
            snprintf(text, size, "%s has the shape '%s'", tensor->name, tensor->shape ? tensor->shape : "");
        }
        for (int k = 0; k < OP_MAX_ALIASES && tensor->alias[k]; k++) {
            int other = op_tensor_find(op, tensor->alias[k]);
            if (other < 0 || other == t || !op_is_output(op, t)) {
                snprintf(text, size, "%s cannot share its pointer with '%s'", tensor->name, tensor->alias[k]);
            }
        }
    }
    for (int i = 0; i < op_scalar_count(op); i++) {
        const struct op_scalar *scalar = op_scalar_at(op, i);
        if (!scalar) {
            snprintf(text, size, "scalar %d of '%s' is neither known nor among .own", i + 1, op->scalars);
        } else if (own_find(op, scalar->name, strlen(scalar->name)) >= 0 &&
                   (scalar->usual == 0.0 || scalar->other == scalar->usual)) {
            snprintf(text, size, "the scalar %s needs a usual value that is not 0, and another one", scalar->name);
        }
    }
    if (outputs == 0) { snprintf(text, size, "it has no output"); }
    if (!(op->types & OP_F32)) { snprintf(text, size, "it has no launcher for f32"); }
    const char *const inputs[] = {op->hard_input ? op->hard_input : "x", op->nan_input ? op->nan_input : "x"};
    for (size_t i = 0; i < 2 && op->hard; i++) {
        if (op_tensor_find(op, inputs[i]) < 0) {
            snprintf(text, size, "hard values go into '%s', no tensor", inputs[i]);
        }
    }
    return text[0] == '\0';
}
