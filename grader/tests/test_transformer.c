/* transformer: the known mistakes of lab 4's ops, and lower precision, which all show in every op that can have them. */
#include "common/ops/elements.h"
#include "common/ops/op_test.h"
#include "common/ops/transformer/transformer.h"

TestSuite(transformer, .timeout = 60);

static bool accepted(const struct computed *c, double *const *other) {
    for (int t = 0; t < op_tensor_count(c->op); t++) {
        for (size_t i = 0; op_is_output(c->op, t) && i < op_elements(c->op, t, &c->sizes); i++) {
            enum op_type type = element_type(c->op, t, c->sizes.type);
            float got = (float)element_round(type, other[t][i]);
            if (!reference_accepts(type, c->out[t][i], c->condition[t][i], got)) { return false; }
        }
    }
    return true;
}

/* Enough sequences, positions and layers for each of them to matter. */
static struct computed telling_call(const char *op, enum op_type type) {
    struct op_sizes sizes = op_model_sizes(type, 3, 5, 2, 6, 9);
    sizes.L = 2;
    sizes.V = 19;
    op_sizes_complete(op_find(op), &sizes);
    return fill(op, sizes, 11);
}

static void expect_outside(const struct op *op, const struct op_mistake *mistake, int variant, enum op_type type) {
    struct computed c = telling_call(op->name, type), wrong = telling_call(op->name, type);
    struct op_call call = {op, &wrong.sizes, NULL, (const float *const *)wrong.tensor, wrong.out, NULL};
    bool tiny = variant == TRANSFORMER_GELU_ERF && type != TYPE_F32; /* two GELUs differ by less than bf16 can hold */
    if (variant == TRANSFORMER_BRANCH_IN_LAYER_0) { c.sizes.L = wrong.sizes.L = 0; }
    if (variant == TRANSFORMER_EPS_FIXED) { c.sizes.eps = wrong.sizes.eps = 0.125f; }
    compute(&c);
    cr_assert(accepted(&c, c.out), "%s", op->name);
    mistake->compute(&call, variant);
    cr_assert(tiny || !accepted(&c, wrong.out), "%s, %s: %s would pass", op->name, op_type_name(type), mistake->id);
    drop(&c);
    drop(&wrong);
}

Test(transformer, every_mistake_is_outside_the_tolerance_in_every_type) {
    int tried = 0;
    for (int i = 0; ops[i]; i++) {
        const struct op_reference *reference = reference_of(ops[i]);
        int types = op_is_model(ops[i]) ? 1 : OP_TYPES; /* in bf16 a model's roundings hide some of them */
        for (int list = 0; op_is_on_sequences(ops[i]) && list < OP_MAX_MISTAKE_LISTS && reference->mistakes[list];
             list++) {
            for (const struct op_mistake *mistake = reference->mistakes[list]; mistake->id; mistake++) {
                for (int v = 0; v < OP_MAX_VARIANTS && mistake->variant[v]; v++) {
                    for (int type = 0; type < types; type++, tried++) {
                        expect_outside(ops[i], mistake, mistake->variant[v], (enum op_type)type);
                    }
                }
            }
        }
    }
    cr_assert(tried > 150, "%d", tried);
}

Test(transformer, lower_precision_is_outside_the_tolerance) {
    static const char *const names[] = {"attention_forward", "block_forward", "block_backward", "decode_attention",
                                        "gpt2_forward"};
    for (int i = 0; i < 5; i++) {
        struct computed c = telling_call(names[i], TYPE_F32), low = telling_call(names[i], TYPE_F32);
        compute(&c);
        for (int t = 0; t < op_tensor_count(low.op); t++) { /* TF32 keeps as many bits as fp16 */
            bool values = low.op->tensor[t].role == ROLE_IN && low.op->tensor[t].element == ELEMENT_T;
            for (size_t k = 0; values && k < op_elements(low.op, t, &low.sizes); k++) {
                low.tensor[t][k] = (float)element_round(TYPE_F16, low.tensor[t][k]);
            }
        }
        compute(&low);
        cr_assert(!accepted(&c, low.out), "%s", names[i]);
        drop(&c);
        drop(&low);
    }
}
