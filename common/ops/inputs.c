#include "inputs.h"

#include <math.h>
#include <string.h>

#include "../runner/generate.h"
#include "elements.h"
#include "reference.h"

static const char *const names[VALUES_KINDS] = {
    [VALUES_NORMAL] = "normal",
    [VALUES_LARGE] = "large (up to 1e4)",
    [VALUES_SMALL] = "small (about 1e-3)",
    [VALUES_NEGATIVE] = "far below zero (about -5000)",
    [VALUES_SHIFTED] = "mean 1000, deviation 1",
    [VALUES_TINY_VARIANCE] = "mean 1000, deviation 0.1",
    [VALUES_CONSTANT_ROWS] = "constant rows",
    [VALUES_EQUAL] = "all equal",
    [VALUES_MINUS_INF] = "a third of the elements -inf",
    [VALUES_ROW_MINUS_INF] = "one row all -inf",
    [VALUES_PLUS_INF] = "one +inf",
    [VALUES_NAN] = "one NaN",
    [VALUES_DENORMAL] = "denormal",
    [VALUES_MASKED_NAN] = "NaN in every masked element",
    [VALUES_LENGTHS] = "lengths outside 0..T",
    [VALUES_SHARP] = "large queries and keys",
    [VALUES_PEAK] = "one element of a row 300 above the others",
    [VALUES_LOW] = "a third of the elements -1e4, -1e9 or -1e30; each fifth row far below zero",
    [VALUES_MIXED] = "each row of another kind",
};

static const char *const words[VALUES_KINDS] = {
    [VALUES_NORMAL] = "normal",
    [VALUES_LARGE] = "large",
    [VALUES_SMALL] = "small",
    [VALUES_NEGATIVE] = "negative",
    [VALUES_SHIFTED] = "shifted",
    [VALUES_TINY_VARIANCE] = "tiny-variance",
    [VALUES_CONSTANT_ROWS] = "constant-rows",
    [VALUES_EQUAL] = "equal",
    [VALUES_MINUS_INF] = "minus-inf",
    [VALUES_ROW_MINUS_INF] = "row-minus-inf",
    [VALUES_PLUS_INF] = "plus-inf",
    [VALUES_NAN] = "one-nan",
    [VALUES_DENORMAL] = "denormal",
    [VALUES_MASKED_NAN] = "masked-nan",
    [VALUES_LENGTHS] = "odd-lengths",
    [VALUES_SHARP] = "sharp",
    [VALUES_PEAK] = "peak",
    [VALUES_LOW] = "finite-masks",
    [VALUES_MIXED] = "mixed",
};

const char *inputs_word(enum input_values values) {
    return words[values];
}

const char *inputs_name(enum input_values values) {
    return names[values];
}

bool inputs_need_lengths(enum input_values values) {
    return values == VALUES_MASKED_NAN || values == VALUES_LENGTHS;
}

int inputs_special_row(const struct op_sizes *sizes) {
    int middle = sizes->N / 2, T = sizes->T;
    return T > 0 ? middle / T * T + 2 * T / 3 : middle; /* of a matrix: a row with several keys */
}

float inputs_bell(uint64_t key, uint64_t i) {
    return generate_float(key, true, i) * 1.2345678f;
}

int inputs_keys(const struct op_sizes *sizes, const float *lengths, int row) {
    int T = sizes->C, keys = row % T + 1;
    if (!sizes->lengths || !lengths) { return keys; }
    float length = fminf(fmaxf(lengths[row / (sizes->H * T)], 0.0f), (float)T);
    return keys < (int)length ? keys : (int)length;
}

static float plain(const struct op_tensor *tensor, uint64_t key, uint64_t i) {
    return tensor->holds == HOLDS_WEIGHT ? 1.0f + 0.3f * inputs_bell(key, i) : inputs_bell(key, i);
}

/* One element of the hard input, from its ordinary value z. `width`: the number of unmasked columns of its row. */
static float hard_value(enum input_values values, const struct op_sizes *sizes, int width, bool special_row,
                        uint64_t key, uint64_t i, float z) {
    int n = (int)(i / (uint64_t)sizes->C), c = (int)(i % (uint64_t)sizes->C);
    bool special = special_row && width > 0 && c == (int)(generate_mix(key) % (uint64_t)width);
    uint64_t bits = generate_mix(key + i);
    switch (values) {
        case VALUES_LARGE: return z * 4000.0f;
        case VALUES_SMALL: return z * 1e-3f;
        case VALUES_NEGATIVE: return z - 5000.0f;
        case VALUES_SHIFTED: return z + 1000.0f;
        case VALUES_TINY_VARIANCE: return 0.1f * z + 1000.0f;
        /* few mantissa bits, so that sums are exact in any order: constant rows do not test rounding */
        case VALUES_CONSTANT_ROWS: return 0.25f * (float)(1 + n % 64) * (n % 2 ? -1.0f : 1.0f);
        case VALUES_EQUAL: return 1.0f;
        case VALUES_MINUS_INF: {
            bool beginning = n % 2 == 1 && c < width * 3 / 4;
            bool kept = c == width - 1; /* at least one entry stays finite */
            return !kept && (beginning || bits % 3 == 0) ? -INFINITY : z;
        }
        case VALUES_ROW_MINUS_INF: return special_row ? -INFINITY : z;
        case VALUES_PLUS_INF: return special ? INFINITY : z;
        case VALUES_NAN: return special ? NAN : z;
        case VALUES_DENORMAL: return z * (sizes->type == TYPE_F16 ? 1e-5f : 1e-40f);
        case VALUES_MASKED_NAN: return c >= width ? NAN : z;
        case VALUES_PEAK: {
            int any = width > 0 ? (int)(generate_mix(key + (uint64_t)n) % (uint64_t)width) : 0;
            const int places[] = {width - 1, any, 0};
            return c == places[n % 3] ? z + 300.0f : z;
        }
        case VALUES_LOW: {
            static const float masks[] = {-1e4f, -1e9f, -1e30f};
            float mask = sizes->type == TYPE_F16 ? -6e4f : masks[n % 3];
            /* Powers of two: a scale, or another base of exp, rounds the products of a row alike. */
            float all = sizes->type == TYPE_F16 ? -0x1p15f : sizes->T > 0 ? -0x1p26f : -0x1p124f;
            if (n % 5 == 4) { return all; }
            return c < width - 1 && bits % 3 == 0 ? mask : z;
        }
        default: return z;
    }
}

float inputs_poison(uint64_t seed, int tensor, uint64_t element) {
    uint64_t bits = generate_mix(generate_key(seed, 1, tensor) ^ generate_mix(element + 1));
    uint32_t word = 0x46800000u | (uint32_t)(bits & 0x807fffff); /* exponent of 16384, random sign and mantissa */
    float poison;
    memcpy(&poison, &word, sizeof poison);
    return poison;
}

/* Lengths of every kind: all keys, none, one, all but one, any number. `outside`: also lengths that must be clamped. */
static float length_of(const struct op_sizes *sizes, bool outside, uint64_t key, int b) {
    int T = sizes->T, any = (int)(generate_mix(key + (uint64_t)b) % (uint64_t)(T + 1));
    const int kinds[] = {any, T, 0, 1, T - 1}, clamped[] = {T + 1, -1, any, -2147483647, 1 << 24};
    return (float)(outside ? clamped : kinds)[(b + (int)(key % 5)) % 5];
}

/* The number of unmasked columns in element i's row; C if the op has no mask. */
static int width_of(const struct op *op, const struct op_sizes *sizes, float *const tensor[], uint64_t i) {
    int lengths = op_tensor_find(op, "lengths");
    if (!op_is_on_matrices(op)) { return sizes->C; }
    return inputs_keys(sizes, lengths >= 0 ? tensor[lengths] : NULL, (int)(i / (uint64_t)sizes->C));
}

/* Kinds that a row can have by itself. */
static op_hard mixed_kinds(const struct op *op) {
    return op->hard & ~(op_hard)HARD(VALUES_LENGTHS);
}

bool inputs_can_mix(const struct op *op) {
    for (int t = 0; t < op_tensor_count(op); t++) {
        if (op_is_output(op, t) && !op_has_rows(op, t)) { return false; }
    }
    return op_is_on_matrices(op) && mixed_kinds(op) && !reference_of(op)->fill && !reference_of(op)->complete &&
           op->hard_input == op->nan_input;
}

/* The kind of a row's values in a mixed call. */
static enum input_values kind_of_row(const struct op *op, uint64_t key, uint64_t row) {
    op_hard kinds = mixed_kinds(op);
    int chosen = (int)(generate_mix(key ^ generate_mix(row + 1)) % (uint64_t)__builtin_popcount(kinds));
    while (chosen-- > 0) { kinds &= kinds - 1; }
    return (enum input_values)__builtin_ctz(kinds);
}

static bool is_called(const struct op_tensor *tensor, const char *name) {
    return strcmp(tensor->name, name ? name : "x") == 0;
}

static void fill_input(const struct op *op, const struct op_sizes *sizes, enum input_values values, uint64_t seed,
                       float *const tensor[], int t) {
    const struct op_reference *reference = reference_of(op);
    enum op_type type = element_type(op, t, sizes->type);
    uint64_t count = op_elements(op, t, sizes), key = generate_key(seed, 0, t);
    bool is_hard =
        values != VALUES_NORMAL && is_called(&op->tensor[t], values == VALUES_NAN ? op->nan_input : op->hard_input);
    if (reference->fill) { reference->fill(op, sizes, values, tensor, t, key, count); }
    for (uint64_t i = 0; i < count; i++) {
        float z = tensor[t][i];
        if (!reference->fill) {
            z = plain(&op->tensor[t], key, i);
            uint64_t row = i / (uint64_t)sizes->C;
            bool is_mixed = values == VALUES_MIXED, special = is_mixed || (int)row == inputs_special_row(sizes);
            enum input_values kind = is_mixed ? kind_of_row(op, key, row) : values;
            if (is_hard) { z = hard_value(kind, sizes, width_of(op, sizes, tensor, i), special, key, i, z); }
        }
        tensor[t][i] = (float)element_round(type, z);
    }
}

/* The mask depends on the tensor of (B) ints, so that tensor is filled first. */
static bool is_first(const struct op *op, int t) {
    return op_shape_is(op, t, "B") && op->tensor[t].element == ELEMENT_INT;
}

static void fill_lengths(const struct op *op, const struct op_sizes *sizes, enum input_values values, uint64_t seed,
                         float *const tensor[], int t) {
    const struct op_reference *reference = reference_of(op);
    uint64_t count = op_elements(op, t, sizes), key = generate_key(seed, 0, t);
    if (reference->fill) { reference->fill(op, sizes, values, tensor, t, key, count); }
    for (uint64_t b = 0; b < count && !reference->fill; b++) {
        tensor[t][b] = length_of(sizes, values == VALUES_LENGTHS, key, (int)b);
    }
}

static void fill_poison(const struct op *op, const struct op_sizes *sizes, uint64_t seed, float *const tensor[],
                        int t) {
    enum op_type type = element_type(op, t, sizes->type);
    uint64_t count = op_elements(op, t, sizes);
    for (uint64_t i = 0; i < count; i++) {
        float poison = inputs_poison(seed, t, i);
        tensor[t][i] = op->tensor[t].element == ELEMENT_INT ? truncf(poison) : (float)element_round(type, poison);
    }
}

void inputs_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values, uint64_t seed,
                 float *const tensor[]) {
    int tensors = op_tensor_count(op);
    for (int t = 0; t < tensors; t++) {
        if (is_first(op, t)) { fill_lengths(op, sizes, values, seed, tensor, t); }
    }
    for (int t = 0; t < tensors; t++) {
        if (is_first(op, t)) { continue; }
        if (op->tensor[t].role == ROLE_OUT || op->tensor[t].role == ROLE_WORK) {
            fill_poison(op, sizes, seed, tensor, t);
        } else {
            fill_input(op, sizes, values, seed, tensor, t);
        }
    }
    if (reference_of(op)->complete) { reference_of(op)->complete(op, sizes, tensor); }
}
