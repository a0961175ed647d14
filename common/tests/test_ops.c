/* ops: names, sizes and byte floors, against the table of floors that the kernels are measured by. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/ops/ops.h"

TestSuite(ops, .timeout = 20);

/* s bytes per element: the floor as a multiple of s for each element of the output. */
static double multiple(const char *name, enum op_type type, int upper) {
    const struct op *op = op_find(name);
    struct op_sizes sizes = {.N = 1 << 16, .C = 1 << 10, .type = type};
    if (op_is_causal(op)) { sizes = op_causal_sizes(type, 8, 8, 1 << 10, 1.0f); }
    sizes.upper = upper;
    double elements = (double)sizes.N * sizes.C;
    return (double)op_floor_bytes(op, &sizes) / elements / (double)op_element_bytes(op, 0, type);
}

Test(ops, floors_are_the_known_ones) {
    static const struct {
        const char *op;
        double floor;
    } known[] = {
        {"softmax_forward", 2},
        {"softmax_backward", 3},
        {"causal_softmax_forward", 1.5},
        {"causal_softmax_backward", 2},
        {"layernorm_forward", 2},
        {"layernorm_backward", 3},
        {"residual_layernorm_forward", 4},
        {"residual_layernorm_backward", 4},
        {"layernorm_residual_forward", 3},
        {"layernorm_residual_backward", 3},
        {"bias_gelu_forward", 2},
        {"bias_gelu_backward", 3},
        {"three_way_add", 4},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        for (int type = 0; type < OP_TYPES; type++) {
            double found = multiple(known[i].op, (enum op_type)type, 0);
            cr_assert(found >= known[i].floor && found < known[i].floor + 0.01, "%s_%s: %g", known[i].op,
                      op_type_name((enum op_type)type), found);
        }
    }
    cr_assert(multiple("causal_softmax_forward", TYPE_BF16, 1) < 1.01);
    cr_assert(multiple("causal_softmax_backward", TYPE_F32, 1) < 1.51);
}

Test(ops, half_a_matrix_is_counted_to_the_element) {
    const struct op *op = op_find("causal_softmax_forward");
    struct op_sizes sizes = op_causal_sizes(TYPE_F16, 3, 2, 5, 1.0f);
    cr_assert_eq(sizes.N, 30);
    cr_assert_eq(op_needed_elements(op, 1, &sizes), 6u * 15);
    cr_assert_eq(op_needed_elements(op, 0, &sizes), 6u * 25);
    sizes.upper = 1;
    cr_assert_eq(op_needed_elements(op, 0, &sizes), 6u * 15);
    cr_assert_eq(op_floor_bytes(op, &sizes), 2u * 6 * 15 * 2);
}

Test(ops, lengths_are_given_or_not) {
    const struct op *op = op_find("causal_softmax_backward");
    struct op_sizes sizes = op_causal_sizes(TYPE_BF16, 3, 2, 5, 1.0f);
    int lengths = op_tensor_find(op, "lengths");
    cr_assert_eq(lengths, 3);
    cr_assert(!op_is_given(op, lengths, &sizes));
    cr_assert_eq(op_elements(op, lengths, &sizes), 0u);
    sizes.lengths = 1;
    cr_assert(op_is_given(op, lengths, &sizes));
    cr_assert_eq(op_elements(op, lengths, &sizes), 3u);
    cr_assert_eq(op_element_bytes(op, lengths, TYPE_BF16), 4u);
}

Test(ops, statistics_and_gradients_of_parameters_are_float_in_every_type) {
    static const char *const names[] = {"mean", "rstd", "dweight", "dbias"};
    for (int k = 0; ops[k]; k++) {
        const struct op *op = ops[k];
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            int t = op_tensor_find(op, names[i]);
            if (t >= 0) { cr_assert_eq(op_element_bytes(op, t, TYPE_F16), 4u, "%s: %s", op->name, names[i]); }
        }
        cr_assert(op->types >> TYPE_F32 & 1, "%s", op->name);
        bool gradient = strcmp(op->name, "block_backward") == 0; /* a parameter's comes first */
        cr_assert_eq(op_element_bytes(op, 0, TYPE_BF16), gradient ? 4u : 2u);
    }
}

Test(ops, launchers_are_named_by_op_and_type) {
    char name[64];
    op_launcher_name(op_find("residual_layernorm_forward"), TYPE_BF16, name, sizeof name);
    cr_assert_str_eq(name, "residual_layernorm_forward_bf16");
    cr_assert_null(op_find("residual_layernorm_forward_bf16"));
}
