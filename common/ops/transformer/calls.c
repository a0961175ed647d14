/* calls.c — tensors of a call by name, and the packed weights of a model; see calls.h. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "calls.h"

struct field call_field(const struct op_call *call, const char *name) {
    size_t count = op_elements(call->op, op_tensor_find(call->op, name), call->sizes);
    struct transformer w = {.errors = call->condition != NULL};
    struct field field = transformer_field(&w, count);
    for (size_t i = 0; i < count; i++) { field.value[i] = call_given(call, name)[i]; }
    return field;
}

void call_put(const struct op_call *call, const char *name, size_t offset, struct field from, size_t count) {
    double *out = call_expected(call, name), *condition = call_condition(call, name);
    for (size_t i = 0; i < count; i++) {
        out[offset + i] = from.value[i];
        if (!condition) { continue; }
        bool exact = from.error[i] == 0.0 || isnan(from.value[i]);
        condition[offset + i] = exact ? 0.0 : from.error[i] + DBL_MIN;
    }
}

void call_finish(const struct op_call *call, const char *name, struct field field) {
    call_put(call, name, 0, field, op_elements(call->op, op_tensor_find(call->op, name), call->sizes));
    field_free(field);
}

struct transformer call_transformer(const struct op_call *call, int mistake) {
    static const double rounding[OP_TYPES] = {[TYPE_F32] = 0.5, [TYPE_F16] = 0x1p12, [TYPE_BF16] = 0x1p15};
    const struct op_sizes *sizes = call->sizes;
    return (struct transformer){.B = sizes->B,
                                .T = sizes->T,
                                .H = sizes->H,
                                .D = sizes->C / sizes->H,
                                .S = sizes->S,
                                .C = sizes->C,
                                .eps = sizes->eps,
                                .rounding = rounding[sizes->type],
                                .errors = call->condition != NULL,
                                .mistake = (enum transformer_mistake)mistake,
                                .lengths = call_given(call, "lengths")};
}

const char *const transformer_block_names[TRANSFORMER_BLOCK_TENSORS] = {
    "ln1_weight", "ln1_bias", "qkv_weight", "qkv_bias", "attention_weight", "attention_bias",
    "ln2_weight", "ln2_bias", "fc_weight",  "fc_bias",  "mlp_weight",       "mlp_bias"};

struct transformer_block call_block(const struct op_call *call) {
    return (struct transformer_block){
        .ln1_weight = call_given(call, "ln1_weight"),
        .ln1_bias = call_given(call, "ln1_bias"),
        .qkv_weight = call_given(call, "qkv_weight"),
        .qkv_bias = call_given(call, "qkv_bias"),
        .attention_weight = call_given(call, "attention_weight"),
        .attention_bias = call_given(call, "attention_bias"),
        .ln2_weight = call_given(call, "ln2_weight"),
        .ln2_bias = call_given(call, "ln2_bias"),
        .fc_weight = call_given(call, "fc_weight"),
        .fc_bias = call_given(call, "fc_bias"),
        .mlp_weight = call_given(call, "mlp_weight"),
        .mlp_bias = call_given(call, "mlp_bias"),
    };
}

void transformer_block_elements(int C, size_t elements[TRANSFORMER_BLOCK_TENSORS]) {
    size_t c = (size_t)C;
    const size_t sizes[TRANSFORMER_BLOCK_TENSORS] = {c, c, 3 * c * c, 3 * c, c * c,     c,
                                                     c, c, 4 * c * c, 4 * c, 4 * c * c, c};
    memcpy(elements, sizes, sizeof sizes);
}

struct transformer_block transformer_layer(const struct op_sizes *sizes, const float *weights, int layer) {
    size_t elements[TRANSFORMER_BLOCK_TENSORS];
    const float *tensors[TRANSFORMER_BLOCK_TENSORS];
    struct transformer_block block;
    transformer_block_elements(sizes->C, elements);
    weights += (size_t)(sizes->V + sizes->S) * (size_t)sizes->C;
    for (int i = 0; i < TRANSFORMER_BLOCK_TENSORS; i++) {
        tensors[i] = weights + (size_t)layer * elements[i];
        weights += (size_t)sizes->L * elements[i];
    }
    memcpy(&block, tensors, sizeof block);
    return block;
}

struct transformer_model transformer_weights(const struct op_sizes *sizes, const float *weights) {
    size_t C = (size_t)sizes->C, V = (size_t)sizes->V, S = (size_t)sizes->S, L = (size_t)sizes->L;
    const float *end = weights + (V + S) * C + L * (12 * C + 13) * C;
    return (struct transformer_model){weights, weights + V * C, end, end + C, V, NULL};
}

void transformer_mistaken(const struct op_call *call, int variant) {
    reference_of(call->op)->compute(call, variant);
}
