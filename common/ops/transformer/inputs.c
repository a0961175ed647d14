/* inputs.c — inputs of a model's ops: parameters, prompts, positions, tokens; see transformer_fill in calls.h. */
#include <math.h>
#include <string.h>

#include "calls.h"
#include "runner/generate.h"

/* Element i of a parameter: a bell times `scale`, around `centre`; `fan_in` divides it by sqrt(fan_in * C). The rows of
 * queries and keys are the first two thirds of qkv's, and twice as large. */
static const struct parameter {
    const char *name;
    float centre, scale, fan_in;
} parameters[] = {
    {"ln1_weight", 1.0f, 0.2f, 0.0f},     {"ln1_bias", 0.0f, 0.1f, 0.0f},   {"qkv_weight", 0.0f, 1.0f, 1.0f},
    {"qkv_bias", 0.0f, 0.1f, 0.0f},       {"fc_bias", 0.0f, 0.1f, 0.0f},    {"attention_weight", 0.0f, 1.0f, 1.0f},
    {"attention_bias", 0.0f, 0.1f, 0.0f}, {"ln2_bias", 0.0f, 0.1f, 0.0f},   {"ln2_weight", 1.0f, 0.2f, 0.0f},
    {"fc_weight", 0.0f, 1.0f, 1.0f},      {"mlp_bias", 0.0f, 0.1f, 0.0f},   {"mlp_weight", 0.0f, 1.0f, 4.0f},
    {"final_weight", 1.0f, 0.2f, 0.0f},   {"final_bias", 0.0f, 0.1f, 0.0f},
};

static const struct parameter *parameter_find(const char *name) {
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        if (strcmp(parameters[i].name, name) == 0) { return &parameters[i]; }
    }
    return NULL;
}

/* The next elements of a tensor; all return where the ones after them lie. */
static float *fill_bell(float *to, float scale, uint64_t key, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) { to[i] = scale * inputs_bell(key, i); }
    return to + count;
}

static float *fill_parameter(float *to, const struct parameter *parameter, const struct op_sizes *sizes, uint64_t key,
                             uint64_t count) {
    float C = (float)sizes->C, spread = sqrtf(parameter->fan_in == 1.0f ? C : parameter->fan_in * C);
    bool is_qkv = strcmp(parameter->name, "qkv_weight") == 0;
    uint64_t scores = is_qkv ? 2u * (uint64_t)sizes->C * (uint64_t)sizes->C : 0;
    for (uint64_t i = 0; i < count; i++) {
        float z = inputs_bell(key, i);
        to[i] = parameter->fan_in == 0.0f ? parameter->centre + parameter->scale * z
                                          : (i < scores ? 2.0f : 1.0f) * z / spread;
    }
    return to + count;
}

/* All of a model's weights, one tensor after the other. */
static void fill_model(float *to, const struct op_sizes *sizes, uint64_t key) {
    size_t elements[TRANSFORMER_BLOCK_TENSORS], C = (size_t)sizes->C;
    transformer_block_elements(sizes->C, elements);
    to = fill_bell(to, 1.0f, key, (size_t)sizes->V * C);
    to = fill_bell(to, 0.5f, key + 1, (size_t)sizes->S * C);
    for (int t = 0; t < TRANSFORMER_BLOCK_TENSORS; t++) {
        const struct parameter *parameter = parameter_find(transformer_block_names[t]);
        for (uint64_t l = 0; l < (uint64_t)sizes->L; l++) {
            to = fill_parameter(to, parameter, sizes, generate_mix(key + 97u * (uint64_t)(t + 1) + l), elements[t]);
        }
    }
    to = fill_parameter(to, parameter_find("final_weight"), sizes, key + 2, C);
    fill_parameter(to, parameter_find("final_bias"), sizes, key + 3, C);
}

/* Of two sequences the first is the longest, the second the shortest. Of more, these two are anywhere, and the lengths of the
 * others are in between. A single one is the longest in a quarter of the calls. */
static int length_at(uint64_t key, uint64_t b, int B, int least, int most) {
    uint64_t place = B > 2 ? (b + key) % (uint64_t)B : B == 2 ? b : key % 4 * 2;
    if (place < 2) { return place == 0 ? most : least; }
    return least + (int)(generate_mix(key + b) % (uint64_t)(most - least + 1));
}

/* qkv and caches: sharper scores, smaller ones, or NaN past the end of a sequence. */
static void fill_state(const struct op *op, const struct op_sizes *sizes, enum input_values values,
                       const float *lengths, float *to, int t, uint64_t key, uint64_t count) {
    uint64_t C = (uint64_t)sizes->C, S = (uint64_t)sizes->S;
    bool is_cache = op_shape_is(op, t, "B, H, S, D"), is_qkv = op_shape_is(op, t, "N, 3C");
    bool is_keys = is_cache && strcmp(op->tensor[t].name, "k") == 0;
    for (uint64_t i = 0; i < count; i++) {
        float z = inputs_bell(key, i);
        bool is_score = is_keys || (is_qkv && i % (3 * C) < 2 * C);
        bool past_end = is_cache && (float)(i / (C / (uint64_t)sizes->H) % S) >= lengths[i / (C * S)];
        to[i] = is_score ? 1.5f * z : z;
        if (values == VALUES_SHARP && is_score) {
            to[i] = 12.0f * z;
        } /* exp overflows, and exp of all scores underflows */
        if (values == VALUES_SMALL) { to[i] = 1e-3f * z; }
        if (values == VALUES_EQUAL) { to[i] = 1.0f; }
        if (values == VALUES_MASKED_NAN && past_end) { to[i] = NAN; }
    }
}

void transformer_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values,
                      float *const tensor[], int t, uint64_t key, uint64_t count) {
    const char *name = op->tensor[t].name;
    const struct parameter *parameter = parameter_find(name);
    float *to = tensor[t];
    int V = sizes->V, lengths = op_tensor_find(op, "lengths");
    if (lengths < 0) { lengths = op_tensor_find(op, "positions"); }
    if (strcmp(name, "lengths") == 0) {
        for (uint64_t i = 0; i < count; i++) { to[i] = (float)length_at(key, i, sizes->B, 1, sizes->T); }
    } else if (strcmp(name, "positions") == 0) {
        for (uint64_t i = 0; i < count; i++) { to[i] = (float)length_at(key, i, sizes->B, 0, sizes->S - 1); }
    } else if (strcmp(name, "weights") == 0) {
        fill_model(to, sizes, key);
    } else if (op->tensor[t].element == ELEMENT_INT) {
        int least = strcmp(name, "tokens") == 0 ? 0 : -1; /* a target without a loss, a sequence without a next token */
        for (uint64_t i = 0; i < count; i++) {
            to[i] = (float)(least + (int)(generate_mix(key + i) % (uint64_t)(V - least)));
        }
    } else if (parameter) {
        fill_parameter(to, parameter, sizes, key, count);
    } else if (op->tensor[t].role == ROLE_ACCUMULATE) { /* a parameter's gradient before the call */
        fill_bell(to, op_is_list(op, t) ? 0.1f : 1.0f / sqrtf((float)sizes->C), key, count);
    } else {
        fill_state(op, sizes, values, lengths >= 0 ? tensor[lengths] : NULL, to, t, key, count);
    }
}
