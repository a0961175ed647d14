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

static float parameter_value(const struct parameter *parameter, const struct op_sizes *sizes, uint64_t key,
                             uint64_t i) {
    float z = inputs_bell(key, i), C = (float)sizes->C;
    if (parameter->fan_in == 0.0f) { return parameter->centre + parameter->scale * z; }
    bool is_score = strcmp(parameter->name, "qkv_weight") == 0 && i < 2u * (uint64_t)sizes->C * (uint64_t)sizes->C;
    return (is_score ? 2.0f : 1.0f) * z / sqrtf(parameter->fan_in == 1.0f ? C : parameter->fan_in * C);
}

/* Element i of all of a model's weights, one tensor after the other. */
static float model_value(const struct op_sizes *sizes, uint64_t key, uint64_t i) {
    size_t elements[TRANSFORMER_BLOCK_TENSORS], C = (size_t)sizes->C, L = (size_t)sizes->L;
    size_t tokens = (size_t)sizes->V * C, positions = (size_t)sizes->S * C;
    transformer_block_elements(sizes->C, elements);
    if (i < tokens) { return inputs_bell(key, i); }
    i -= tokens;
    if (i < positions) { return 0.5f * inputs_bell(key + 1, i); }
    i -= positions;
    for (int t = 0; t < TRANSFORMER_BLOCK_TENSORS; t++) {
        if (i < L * elements[t]) {
            uint64_t own = generate_mix(key + 97u * (uint64_t)(t + 1) + i / elements[t]);
            return parameter_value(parameter_find(transformer_block_names[t]), sizes, own, i % elements[t]);
        }
        i -= L * elements[t];
    }
    return i < C ? parameter_value(parameter_find("final_weight"), sizes, key + 2, i)
                 : parameter_value(parameter_find("final_bias"), sizes, key + 3, i - C);
}

/* The first sequence is the longest, the second the shortest; the lengths of the others are in between. */
static int length_at(uint64_t key, uint64_t b, int least, int most) {
    if (b < 2) { return b == 0 ? most : least; }
    return least + (int)(generate_mix(key + b) % (uint64_t)(most - least + 1));
}

/* Elements of qkv and of caches: sharper scores, smaller ones, or NaN past the end of a sequence. */
static float state(const struct op *op, const struct op_sizes *sizes, enum input_values values, const float *lengths,
                   int t, uint64_t key, uint64_t i) {
    float z = inputs_bell(key, i);
    uint64_t C = (uint64_t)sizes->C, S = (uint64_t)sizes->S;
    bool cache = op_shape_is(op, t, "B, H, S, D");
    bool is_score = cache ? strcmp(op->tensor[t].name, "k") == 0 : op_shape_is(op, t, "N, 3C") && i % (3 * C) < 2 * C;
    bool past_end = cache && (float)(i / (C / (uint64_t)sizes->H) % S) >= lengths[i / (C * S)];
    if (values == VALUES_MASKED_NAN && past_end) { return NAN; }
    if (values == VALUES_EQUAL) { return 1.0f; }
    if (values == VALUES_SMALL) { return 1e-3f * z; }
    if (values == VALUES_SHARP && is_score) { return 12.0f * z; } /* exp overflows, and exp of all scores underflows */
    return is_score ? 1.5f * z : z;
}

float transformer_fill(const struct op *op, const struct op_sizes *sizes, enum input_values values,
                       float *const tensor[], int t, uint64_t key, uint64_t i) {
    const char *name = op->tensor[t].name;
    const struct parameter *parameter = parameter_find(name);
    int V = sizes->V, lengths = op_tensor_find(op, "lengths");
    if (lengths < 0) { lengths = op_tensor_find(op, "positions"); }
    if (strcmp(name, "lengths") == 0) { return (float)length_at(key, i, 1, sizes->T); }
    if (strcmp(name, "positions") == 0) { return (float)length_at(key, i, 0, sizes->S - 1); }
    if (strcmp(name, "weights") == 0) { return model_value(sizes, key, i); }
    if (op->tensor[t].element == ELEMENT_INT) {
        int least = strcmp(name, "tokens") == 0 ? 0 : -1; /* a target without a loss, a sequence without a next token */
        return (float)(least + (int)(generate_mix(key + i) % (uint64_t)(V - least)));
    }
    if (parameter) { return parameter_value(parameter, sizes, key, i); }
    if (op->tensor[t].role == ROLE_ACCUMULATE) { /* a parameter's gradient before the call */
        return inputs_bell(key, i) * (op_is_list(op, t) ? 0.1f : 1.0f / sqrtf((float)sizes->C));
    }
    return state(op, sizes, values, lengths >= 0 ? tensor[lengths] : NULL, t, key, i);
}
