/* inputs_wiring.c — inputs of the ops that wire a model: parameters that are not at rest, prompts, positions, tokens.
 *
 * A model at rest (biases 0, LayerNorm weights 1, small queries) hides half of what can be wired wrongly: everything here
 * counts, and attention looks at few keys.
 */
#include <math.h>
#include <string.h>

#include "inputs_parts.h"
#include "runner/generate.h"
#include "wiring.h"

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

static bool ends(const char *name, const char *with) {
    size_t length = strlen(name), tail = strlen(with);
    return length >= tail && strcmp(name + length - tail, with) == 0;
}

/* Element i of a parameter. The rows of queries and keys are the first two thirds of qkv's. */
static float parameter(const char *name, const struct op_sizes *sizes, uint64_t key, uint64_t i) {
    float z = inputs_bell(key, i), C = (float)sizes->C;
    if (ends(name, "_bias")) { return 0.1f * z; }
    if (begins(name, "ln")) { return 1.0f + 0.2f * z; }
    if (begins(name, "qkv")) { return (i < 2u * (uint64_t)sizes->C * (uint64_t)sizes->C ? 2.0f : 1.0f) * z / sqrtf(C); }
    return z / sqrtf(begins(name, "mlp") ? 4.0f * C : C);
}

void inputs_model(const struct op_sizes *sizes, uint64_t key, float *weights) {
    static const char *const names[WIRING_BLOCK_TENSORS] = {
        "ln1_weight", "ln1_bias", "qkv_weight", "qkv_bias", "attention_weight", "attention_bias",
        "ln2_weight", "ln2_bias", "fc_weight",  "fc_bias",  "mlp_weight",       "mlp_bias"};
    size_t elements[WIRING_BLOCK_TENSORS], C = (size_t)sizes->C, tokens = (size_t)sizes->V * C;
    wiring_block_elements(sizes->C, elements);
    for (size_t i = 0; i < tokens; i++) { weights[i] = inputs_bell(key, i); }
    for (size_t i = 0; i < (size_t)sizes->S * C; i++) { weights[tokens + i] = 0.5f * inputs_bell(key + 1, i); }
    weights += tokens + (size_t)sizes->S * C;
    for (int t = 0; t < WIRING_BLOCK_TENSORS; t++) {
        for (int layer = 0; layer < sizes->L; layer++, weights += elements[t]) {
            uint64_t own = generate_mix(key + 97u * (uint64_t)(t + 1) + (uint64_t)layer);
            for (size_t i = 0; i < elements[t]; i++) { weights[i] = parameter(names[t], sizes, own, i); }
        }
    }
    for (size_t i = 0; i < C; i++) {
        weights[i] = parameter("ln_weight", sizes, key + 2, i);
        weights[C + i] = parameter("ln_bias", sizes, key + 3, i);
    }
}

/* The first sequence is the longest, the second the shortest, others lie between. */
static int length_at(uint64_t key, uint64_t b, int least, int most) {
    if (b < 2) { return b == 0 ? most : least; }
    return least + (int)(generate_mix(key + b) % (uint64_t)(most - least + 1));
}

/* Positions of qkv and of caches: sharper scores, smaller ones, or NaN behind what a sequence has. */
static float state(const struct op *op, const struct op_sizes *sizes, enum input_values values, const float *lengths,
                   int t, uint64_t key, uint64_t i) {
    float z = inputs_bell(key, i);
    uint64_t C = (uint64_t)sizes->C, S = (uint64_t)sizes->S;
    bool cache = op->tensor[t].shape == SHAPE_BHSD;
    bool is_score =
        cache ? strcmp(op->tensor[t].name, "k") == 0 : op->tensor[t].shape == SHAPE_N3C && i % (3 * C) < 2 * C;
    bool behind = cache && (float)(i / (C / (uint64_t)sizes->H) % S) >= lengths[i / (C * S)];
    if (values == VALUES_MASKED_NAN && behind) { return NAN; }
    if (values == VALUES_EQUAL) { return 1.0f; }
    if (values == VALUES_SMALL) { return 1e-3f * z; }
    if (values == VALUES_SHARP && is_score) { return 12.0f * z; } /* exp overflows, and exp of all scores underflows */
    return is_score ? 1.5f * z : z;
}

float inputs_wiring(const struct op *op, const struct op_sizes *sizes, enum input_values values, const float *lengths,
                    int t, uint64_t key, uint64_t i) {
    const char *name = op->tensor[t].name;
    int V = sizes->V;
    if (op->tensor[t].shape == SHAPE_B) {
        bool decoding = strcmp(name, "positions") == 0;
        return (float)length_at(key, i, decoding ? 0 : 1, decoding ? sizes->S - 1 : sizes->T);
    }
    if (op->tensor[t].element == ELEMENT_INT) {
        int least = strcmp(name, "tokens") == 0 ? 0 : -1; /* a target that does not count, a sequence that rests */
        return (float)(least + (int)(generate_mix(key + i) % (uint64_t)(V - least)));
    }
    if (ends(name, "_weight") || ends(name, "_bias")) { return parameter(name, sizes, key, i); }
    return state(op, sizes, values, lengths, t, key, i);
}

void inputs_kept(const struct op *op, const struct op_sizes *sizes, float *const tensor[]) {
    int first = op_tensor_find(op, "residual"), lengths = op_tensor_find(op, "lengths");
    struct wiring_block weights;
    if (op_tensor_find(op, "normalised") < 0) { return; }
    memcpy(&weights, tensor + op_tensor_find(op, "ln1_weight"), sizeof weights);
    wiring_keep(sizes, tensor[lengths], &weights, tensor + first);
}
