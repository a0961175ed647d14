#include "inputs.h"

#include <math.h>
#include <string.h>

#include "reference.h"
#include "runner/generate.h"

static const char *const names[VALUES_KINDS] = {
    [VALUES_NORMAL] = "normal",
    [VALUES_LARGE] = "large (up to 1e4)",
    [VALUES_SMALL] = "small (about 1e-3)",
    [VALUES_NEGATIVE] = "far below zero (about -5000)",
    [VALUES_SHIFTED] = "mean 1000, deviation 1",
    [VALUES_TINY_VARIANCE] = "mean 1000, deviation 0.1",
    [VALUES_CONSTANT_ROWS] = "constant rows",
    [VALUES_EQUAL] = "all equal",
    [VALUES_MINUS_INF] = "a third -inf",
    [VALUES_ROW_MINUS_INF] = "one row all -inf",
    [VALUES_PLUS_INF] = "one +inf",
    [VALUES_NAN] = "one NaN",
    [VALUES_DENORMAL] = "denormal (about 1e-40)",
};

const char *inputs_name(enum input_values values) {
    return names[values];
}

enum {
    FINITE = 1 << VALUES_LARGE | 1 << VALUES_SMALL | 1 << VALUES_NEGATIVE | 1 << VALUES_SHIFTED |
             1 << VALUES_TINY_VARIANCE | 1 << VALUES_CONSTANT_ROWS | 1 << VALUES_EQUAL | 1 << VALUES_DENORMAL,
    SPOILED = 1 << VALUES_PLUS_INF | 1 << VALUES_NAN,
    MASKED = 1 << VALUES_MINUS_INF | 1 << VALUES_ROW_MINUS_INF,
};

static const struct {
    const char *op;
    unsigned kinds;
    const char *hard; /* the input that gets the hard values */
    const char *nan;  /* the input that gets the NaN */
} rules[] = {
    {"layernorm_forward", FINITE | SPOILED, "x", "x"},
    {"layernorm_backward", FINITE | 1 << VALUES_NAN, "x", "dout"},
    {NULL, FINITE | SPOILED | MASKED, "x", "x"},
};

static int rule_of(const struct op *op) {
    int i = 0;
    while (rules[i].op && strcmp(rules[i].op, op->name) != 0) { i++; }
    return i;
}

unsigned inputs_kinds(const struct op *op) {
    return rules[rule_of(op)].kinds;
}

int inputs_special_row(const struct op_sizes *sizes) {
    return sizes->N / 2;
}

/* Bell-shaped on (-2.5, 2.5), deviation 1, with a full mantissa. */
static float bell(uint64_t key, uint64_t i) {
    return generate_float(key, SHAPE_NC, i) * 1.2345678f;
}

static float plain(const struct op_tensor *tensor, uint64_t key, uint64_t i) {
    bool is_weight = tensor->role == ROLE_IN && strcmp(tensor->name, "weight") == 0;
    return is_weight ? 1.0f + 0.3f * bell(key, i) : bell(key, i);
}

/* One element of the hard input, from its ordinary value z. */
static float hard_value(enum input_values values, const struct op_sizes *sizes, uint64_t key, uint64_t i, float z) {
    int n = (int)(i / (uint64_t)sizes->C), c = (int)(i % (uint64_t)sizes->C);
    bool special_row = n == inputs_special_row(sizes);
    uint64_t bits = generate_mix(key + i);
    switch (values) {
        case VALUES_LARGE: return z * 4000.0f;
        case VALUES_SMALL: return z * 1e-3f;
        case VALUES_NEGATIVE: return z - 5000.0f;
        case VALUES_SHIFTED: return z + 1000.0f;
        case VALUES_TINY_VARIANCE: return 0.1f * z + 1000.0f;
        /* few mantissa bits, so that any order of summation is exact: a constant row is no test of rounding */
        case VALUES_CONSTANT_ROWS: return 0.25f * (float)(1 + n % 64) * (n % 2 ? -1.0f : 1.0f);
        case VALUES_EQUAL: return 1.0f;
        case VALUES_MINUS_INF: {
            bool beginning = n % 2 == 1 && c < sizes->C * 3 / 4;
            bool kept = c == sizes->C - 1; /* at least one entry stays finite */
            return !kept && (beginning || bits % 3 == 0) ? -INFINITY : z;
        }
        case VALUES_ROW_MINUS_INF: return special_row ? -INFINITY : z;
        case VALUES_PLUS_INF: return special_row && c == (int)(generate_mix(key) % (uint64_t)sizes->C) ? INFINITY : z;
        case VALUES_NAN: return special_row && c == (int)(generate_mix(key) % (uint64_t)sizes->C) ? NAN : z;
        case VALUES_DENORMAL: return z * 1e-40f;
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

static int find_tensor(const struct op *op, const char *name) {
    for (int t = 0; t < op->tensor_count; t++) {
        if (strcmp(op->tensor[t].name, name) == 0) { return t; }
    }
    return -1;
}

/* The backward pass gets the mean and rstd that the forward pass would have written. */
static void fill_statistics(const struct op *op, const struct op_sizes *sizes, float *const tensor[]) {
    int x = find_tensor(op, "x"), mean = find_tensor(op, "mean"), rstd = find_tensor(op, "rstd");
    if (mean < 0 || rstd < 0 || op->tensor[mean].role != ROLE_IN) { return; }
    for (int n = 0; n < sizes->N; n++) {
        double row_mean, row_rstd;
        reference_row_statistics(tensor[x] + (size_t)n * (size_t)sizes->C, sizes->C, sizes->eps, &row_mean, &row_rstd);
        tensor[mean][n] = (float)row_mean;
        tensor[rstd][n] = (float)row_rstd;
    }
}

void inputs_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values, uint64_t seed,
                 float *const tensor[]) {
    int rule = rule_of(op);
    const char *hard = values == VALUES_NAN ? rules[rule].nan : rules[rule].hard;
    for (int t = 0; t < op->tensor_count; t++) {
        uint64_t count = op_elements(op, t, sizes), key = generate_key(seed, 0, t);
        bool is_hard = values != VALUES_NORMAL && strcmp(op->tensor[t].name, hard) == 0;
        for (uint64_t i = 0; i < count; i++) {
            if (op->tensor[t].role == ROLE_OUT) {
                tensor[t][i] = inputs_poison(seed, t, i);
            } else {
                float z = plain(&op->tensor[t], key, i);
                tensor[t][i] = is_hard ? hard_value(values, sizes, key, i, z) : z;
            }
        }
    }
    fill_statistics(op, sizes, tensor);
}
