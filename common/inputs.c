#include "inputs.h"

#include <math.h>
#include <string.h>

#include "elements.h"
#include "inputs_parts.h"
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
    [VALUES_DENORMAL] = "denormal",
    [VALUES_MASKED_NAN] = "NaN in all that is masked",
    [VALUES_LENGTHS] = "lengths outside 0..T",
    [VALUES_SHARP] = "large queries and keys",
};

const char *inputs_name(enum input_values values) {
    return names[values];
}

bool inputs_need_lengths(enum input_values values) {
    return values == VALUES_MASKED_NAN || values == VALUES_LENGTHS;
}

enum {
    FINITE = 1 << VALUES_LARGE | 1 << VALUES_SMALL | 1 << VALUES_NEGATIVE | 1 << VALUES_SHIFTED |
             1 << VALUES_TINY_VARIANCE | 1 << VALUES_CONSTANT_ROWS | 1 << VALUES_EQUAL | 1 << VALUES_DENORMAL,
    SPOILED = 1 << VALUES_PLUS_INF | 1 << VALUES_NAN,
    MASKED = 1 << VALUES_MINUS_INF | 1 << VALUES_ROW_MINUS_INF,
    CAUSAL = 1 << VALUES_MASKED_NAN | 1 << VALUES_LENGTHS,
    ONE_NAN = 1 << VALUES_NAN,
    WIRED = 1 << VALUES_SMALL | 1 << VALUES_EQUAL | 1 << VALUES_SHARP,
};

static const struct rule {
    const char *op;
    unsigned kinds;
    const char *hard; /* the input that gets the hard values */
    const char *nan;  /* the input that gets the NaN */
} rules[] = {
    {"layernorm_forward", FINITE | SPOILED, "x", "x"},
    {"layernorm_backward", FINITE | ONE_NAN, "x", "dout"},
    {"residual_layernorm_forward", FINITE | SPOILED, "x", "x"},
    {"residual_layernorm_backward", FINITE | ONE_NAN, "sum", "dout"},
    {"layernorm_residual_forward", FINITE | SPOILED, "x", "x"},
    {"layernorm_residual_backward", FINITE | ONE_NAN, "x", "dout"},
    {"softmax_backward", FINITE | ONE_NAN, "dout", "dout"},
    {"causal_softmax_forward", FINITE | SPOILED | MASKED | CAUSAL, "x", "x"},
    {"causal_softmax_backward", FINITE | ONE_NAN | CAUSAL, "dout", "dout"},
    {"bias_gelu_forward", FINITE | ONE_NAN, "x", "x"},
    {"bias_gelu_backward", FINITE | ONE_NAN, "x", "dout"},
    {"three_way_add", FINITE | SPOILED | MASKED, "a", "a"},
    {"attention_forward", WIRED, "qkv", "qkv"},
    {"decode_attention", WIRED | 1 << VALUES_MASKED_NAN, "qkv", "qkv"},
    {"block_forward", 1 << VALUES_SMALL, "residual", "residual"},
    {"block_backward", 1 << VALUES_SMALL, "residual", "residual"},
    {"gpt2_forward", 0, "weights", "weights"},
    {"gpt2_decode", 0, "weights", "weights"},
    {NULL, FINITE | SPOILED | MASKED, "x", "x"},
};

static const struct rule *rule_of(const struct op *op) {
    const struct rule *rule = rules;
    while (rule->op && strcmp(rule->op, op->name) != 0) { rule++; }
    return rule;
}

unsigned inputs_kinds(const struct op *op) {
    return rule_of(op)->kinds;
}

int inputs_special_row(const struct op_sizes *sizes) {
    return sizes->N / 2;
}

float inputs_bell(uint64_t key, uint64_t i) {
    return generate_float(key, SHAPE_NC, i) * 1.2345678f;
}

static float plain(const struct op_tensor *tensor, uint64_t key, uint64_t i) {
    bool is_weight = tensor->role == ROLE_IN && strcmp(tensor->name, "weight") == 0;
    return is_weight ? 1.0f + 0.3f * inputs_bell(key, i) : inputs_bell(key, i);
}

/* One element of the hard input, from its ordinary value z. `width`: columns of its row that count, the unmasked ones. */
static float hard_value(enum input_values values, const struct op_sizes *sizes, int width, uint64_t key, uint64_t i,
                        float z) {
    int n = (int)(i / (uint64_t)sizes->C), c = (int)(i % (uint64_t)sizes->C);
    bool special_row = n == inputs_special_row(sizes);
    bool special = special_row && width > 0 && c == (int)(generate_mix(key) % (uint64_t)width);
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
            bool beginning = n % 2 == 1 && c < width * 3 / 4;
            bool kept = c == width - 1; /* at least one entry stays finite */
            return !kept && (beginning || bits % 3 == 0) ? -INFINITY : z;
        }
        case VALUES_ROW_MINUS_INF: return special_row ? -INFINITY : z;
        case VALUES_PLUS_INF: return special ? INFINITY : z;
        case VALUES_NAN: return special ? NAN : z;
        case VALUES_DENORMAL: return z * (sizes->type == TYPE_F16 ? 1e-5f : 1e-40f);
        case VALUES_MASKED_NAN: return c >= width ? NAN : z;
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

/* The backward pass gets the mean and rstd that the forward pass would have written. */
static void fill_statistics(const struct op *op, const struct op_sizes *sizes, float *const tensor[]) {
    int sum = op_tensor_find(op, "sum"), x = sum >= 0 ? sum : op_tensor_find(op, "x");
    int mean = op_tensor_find(op, "mean"), rstd = op_tensor_find(op, "rstd");
    if (x < 0 || mean < 0 || rstd < 0 || op->tensor[mean].role != ROLE_IN) { return; }
    for (int n = 0; n < sizes->N; n++) {
        double row_mean, row_rstd;
        reference_row_statistics(tensor[x] + (size_t)n * (size_t)sizes->C, sizes->C, sizes->eps, &row_mean, &row_rstd);
        tensor[mean][n] = (float)row_mean;
        tensor[rstd][n] = (float)row_rstd;
    }
}

/* A length of every kind: the whole, nothing, one key, all but one, and any; `outside`: also what has to be clamped. */
static float length_of(const struct op_sizes *sizes, bool outside, uint64_t key, int b) {
    int T = sizes->T, any = (int)(generate_mix(key + (uint64_t)b) % (uint64_t)(T + 1));
    const int kinds[] = {any, T, 0, 1, T - 1}, clamped[] = {T + 1, -1, any, -2147483647, 1 << 24};
    return (float)(outside ? clamped : kinds)[(b + (int)(key % 5)) % 5];
}

/* The columns of each row that the mask leaves; all of them when there is none. */
static int width_of(const struct op *op, const struct op_sizes *sizes, float *const tensor[], uint64_t i) {
    int lengths = op_tensor_find(op, "lengths");
    if (!op_is_causal(op)) { return sizes->C; }
    return reference_keys(sizes, lengths >= 0 ? tensor[lengths] : NULL, (int)(i / (uint64_t)sizes->C));
}

/* The backward pass gets an `out` that the forward pass could have written: a softmax of what is there. */
static void make_softmax(const struct op *op, const struct op_sizes *sizes, float *const tensor[], float *out) {
    size_t C = (size_t)sizes->C;
    for (size_t n = 0; n < (size_t)sizes->N; n++) {
        float *row = out + n * C;
        size_t width = (size_t)width_of(op, sizes, tensor, n * C);
        double sum = 0.0;
        for (size_t c = 0; c < width; c++) { sum += exp(2.0 * row[c]); }
        for (size_t c = 0; c < C; c++) {
            row[c] = c < width ? (float)element_round(sizes->type, exp(2.0 * row[c]) / sum) : 0.0f;
        }
    }
}

/* The tensor that says how long each sequence is, or -1. */
static int lengths_of(const struct op *op) {
    int lengths = op_tensor_find(op, "lengths");
    return lengths >= 0 ? lengths : op_tensor_find(op, "positions");
}

static void fill_input(const struct op *op, const struct op_sizes *sizes, enum input_values values, uint64_t seed,
                       float *const tensor[], int t) {
    const struct rule *rule = rule_of(op);
    enum op_type type = element_type(op, t, sizes->type);
    const char *hard = values == VALUES_NAN ? rule->nan : rule->hard;
    uint64_t count = op_elements(op, t, sizes), key = generate_key(seed, 0, t);
    if (op->tensor[t].shape == SHAPE_WEIGHTS) { inputs_model(sizes, key, tensor[t]); }
    int lengths = lengths_of(op);
    bool is_hard = values != VALUES_NORMAL && strcmp(op->tensor[t].name, hard) == 0;
    for (uint64_t i = 0; i < count; i++) {
        float z = plain(&op->tensor[t], key, i);
        int width = is_hard ? width_of(op, sizes, tensor, i) : 0;
        if (op->tensor[t].shape == SHAPE_WEIGHTS) {
            z = tensor[t][i];
        } else if (op_is_wiring(op)) {
            z = inputs_wiring(op, sizes, values, lengths >= 0 ? tensor[lengths] : NULL, t, key, i);
        } else if (is_hard) {
            z = hard_value(values, sizes, width, key, i, z);
        }
        tensor[t][i] = (float)element_round(type, z);
    }
    if (strcmp(op->tensor[t].name, "out") == 0) { make_softmax(op, sizes, tensor, tensor[t]); }
}

void inputs_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values, uint64_t seed,
                 float *const tensor[]) {
    for (int t = 0; t < op->tensor_count; t++) { /* lengths first: what is masked depends on them */
        uint64_t count = op_elements(op, t, sizes);
        if (op->tensor[t].shape != SHAPE_B) { continue; }
        for (uint64_t b = 0; b < count; b++) {
            uint64_t key = generate_key(seed, 0, t);
            tensor[t][b] = op_is_wiring(op) ? inputs_wiring(op, sizes, values, NULL, t, key, b)
                                            : length_of(sizes, values == VALUES_LENGTHS, key, (int)b);
        }
    }
    for (int t = 0; t < op->tensor_count; t++) {
        enum op_type type = element_type(op, t, sizes->type);
        uint64_t count = op_elements(op, t, sizes);
        if (op->tensor[t].shape == SHAPE_B) { continue; }
        bool poisoned = op->tensor[t].role == ROLE_OUT || op->tensor[t].role == ROLE_WORK;
        if (!poisoned) { fill_input(op, sizes, values, seed, tensor, t); }
        for (uint64_t i = 0; poisoned && i < count; i++) {
            float poison = inputs_poison(seed, t, i);
            tensor[t][i] = op->tensor[t].element == ELEMENT_INT ? truncf(poison) : (float)element_round(type, poison);
        }
    }
    fill_statistics(op, sizes, tensor);
    inputs_kept(op, sizes, tensor);
}
